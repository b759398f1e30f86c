/* rawdial.c HOST PORT: what a program of a job does at least: connects back, says that it is there,
   and waits for the end. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char byte = 1;
    int line;
    if (count != 3 || getaddrinfo(arguments[1], arguments[2], &wanted, &found) != 0) {
        fprintf(stderr, "usage: rawdial HOST PORT\n");
        return 2;
    }
    line = socket(found->ai_family, found->ai_socktype, 0);
    if (line < 0 || connect(line, found->ai_addr, found->ai_addrlen) != 0 ||
        write(line, &byte, 1) != 1)
        return 1;
    freeaddrinfo(found);
    return read(line, &byte, 1) < 0;
}
