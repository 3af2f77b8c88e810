/*
 * Calls libpcp_trace as the lines of standard input say, and prints what each call returns:
 *
 *   state FLAGS | begin TAG | end TAG | abort TAG | point TAG | obs TAG VALUE | counter TAG VALUE | sleep MILLISECONDS
 *
 * A call that succeeds prints "ok", since in the asynchronous protocol the result is a number of bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/trace.h>

int main(void)
{
    char line[1024];

    while (fgets(line, sizeof line, stdin)) {
        char *call = strtok(line, "\t\n"), *tag = strtok(NULL, "\t\n"), *value = strtok(NULL, "\t\n");
        double v = value ? atof(value) : 0;
        int sts = 0;

        if (!call || !tag)
            return 2;
        if (!strcmp(call, "state"))
            sts = pmtracestate(atoi(tag));
        else if (!strcmp(call, "begin"))
            sts = pmtracebegin(tag);
        else if (!strcmp(call, "end"))
            sts = pmtraceend(tag);
        else if (!strcmp(call, "abort"))
            sts = pmtraceabort(tag);
        else if (!strcmp(call, "point"))
            sts = pmtracepoint(tag);
        else if (!strcmp(call, "obs"))
            sts = pmtraceobs(tag, v);
        else if (!strcmp(call, "counter"))
            sts = pmtracecounter(tag, v);
        else if (!strcmp(call, "sleep"))
            usleep(1000 * atoi(tag));
        else
            return 2;
        printf("%s %s: %s\n", call, tag, sts < 0 ? pmtraceerrstr(sts) : "ok");
        fflush(stdout);
    }
    return 0;
}
