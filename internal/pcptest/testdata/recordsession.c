/*
 * Makes a recording session with the C library: commands from standard input, a line of answer for each.
 *
 *   setup FOLIO CREATOR REPLAY    pmRecordSetup: "ok", or the error number
 *   replay TEXT                   a line of the replay configuration
 *   host NAME DEFAULT             pmRecordAddHost: its status; hosts are numbered from 0
 *   config N TEXT                 a line of the configuration of host N
 *   control N REQUEST [ARGUMENT]  pmRecordControl, N of -1 for all: its status
 *   show N                        whether there is a process, and its exit status
 *   log N                         the path of the log
 *   seen N TEXT                   waits until the text is in the log of host N
 *   recorded N BYTES              waits until the archive of host N has a volume of that size
 *   ended N                       waits until the logger of host N has ended
 *   kill N SIGNAL                 sends a signal to the logger of host N
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    FILE *f_config;
    int fd_ipc;
    char *logfile;
    pid_t pid;
    int status;
} pmRecordHost;

extern FILE *pmRecordSetup(const char *, const char *, int);
extern int pmRecordAddHost(const char *, int, pmRecordHost **);
extern int pmRecordControl(pmRecordHost *, int, const char *);

#define MAXHOSTS 64

static pmRecordHost *hosts[MAXHOSTS];
static int nhosts;

static pmRecordHost *host(const char *number)
{
    int i = number == NULL ? -1 : atoi(number);
    return i < 0 || i >= nhosts ? NULL : hosts[i];
}

static int seen(const char *path, const char *text)
{
    static char log[1 << 16];
    int i;

    for (i = 0; i < 6000; i++) {
	FILE *f = fopen(path, "r");
	if (f != NULL) {
	    size_t n = fread(log, 1, sizeof log - 1, f);
	    log[n] = '\0';
	    fclose(f);
	    if (strstr(log, text) != NULL)
		return 1;
	}
	usleep(10000);
    }
    return 0;
}

static int recorded(const char *logfile, int bytes)
{
    char path[4096];
    struct stat st;
    int i;

    /* BASE.HOST.log stands beside BASE.HOST.0 */
    snprintf(path, sizeof path, "%.*s.0", (int)strlen(logfile) - 4, logfile);
    for (i = 0; i < 6000; i++) {
	if (stat(path, &st) == 0 && st.st_size >= bytes)
	    return 1;
	usleep(10000);
    }
    return 0;
}

int main(void)
{
    static char line[4096];
    FILE *replay = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
	char *command, *a, *b, *rest;
	line[strcspn(line, "\n")] = '\0';
	command = strtok_r(line, " ", &rest);
	if (command == NULL)
	    continue;
	if (strcmp(command, "setup") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    b = strtok_r(NULL, " ", &rest);
	    FILE *stream = pmRecordSetup(a, b, atoi(rest));
	    if (stream == NULL)
		printf("%d\n", errno);
	    else {
		replay = stream;
		printf("ok\n");
	    }
	}
	else if (strcmp(command, "replay") == 0) {
	    fprintf(replay, "%s\n", rest);
	    printf("ok\n");
	}
	else if (strcmp(command, "host") == 0) {
	    pmRecordHost *h = NULL;
	    a = strtok_r(NULL, " ", &rest);
	    int sts = pmRecordAddHost(a, atoi(rest), &h);
	    if (sts == 0)
		hosts[nhosts++] = h;
	    printf("%d\n", sts);
	}
	else if (strcmp(command, "config") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    fprintf(host(a)->f_config, "%s\n", rest);
	    printf("ok\n");
	}
	else if (strcmp(command, "control") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    b = strtok_r(NULL, " ", &rest);
	    printf("%d\n", pmRecordControl(host(a), atoi(b), *rest ? rest : NULL));
	}
	else if (strcmp(command, "show") == 0) {
	    pmRecordHost *h = host(strtok_r(NULL, " ", &rest));
	    printf("process %d status %d\n", h->pid > 0, h->status);
	}
	else if (strcmp(command, "log") == 0) {
	    printf("%s\n", host(strtok_r(NULL, " ", &rest))->logfile);
	}
	else if (strcmp(command, "seen") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    printf("%s\n", seen(host(a)->logfile, rest) ? "ok" : "never");
	}
	else if (strcmp(command, "recorded") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    printf("%s\n", recorded(host(a)->logfile, atoi(rest)) ? "ok" : "never");
	}
	else if (strcmp(command, "ended") == 0) {
	    siginfo_t info;
	    waitid(P_PID, host(strtok_r(NULL, " ", &rest))->pid, &info, WEXITED | WNOWAIT);
	    printf("ok\n");
	}
	else if (strcmp(command, "kill") == 0) {
	    a = strtok_r(NULL, " ", &rest);
	    printf("%s\n", kill(host(a)->pid, atoi(rest)) == 0 ? "ok" : "failed");
	}
	else
	    printf("unknown command %s\n", command);
    }
    return 0;
}
