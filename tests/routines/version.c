/* One routine that says which library it comes from. */
int version(void) { return VERSION; }
