"""What the module `tables` is made of: which files are tables, how they are read, what may be asked,
and how the answer travels."""
