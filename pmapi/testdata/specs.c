/*
 * What the C library makes of specifications: one answer for each line of input, and a field of an answer after a
 * 0x01 character. The argument is "metric" or "host".
 *
 * The functions for hosts are exported, but their header is not installed: the declarations below are what PCP 6.0.3
 * has on a 64-bit Linux.
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>

struct host { char *name; int *ports; int nports; };
struct node { struct node *next; unsigned int key; char *value; };
struct table { int nodes, size; struct node **chains; void *reserved[8]; };

extern int __pmParseHostAttrsSpec(const char *, struct host **, int *, struct table *, char **);
extern int __pmAttrKeyStr_r(unsigned int, char *, size_t);

/* text prints a field, with 0x02 for a newline. */
static void text(const char *name, const char *value)
{
    printf("\001%s=", name);
    for (; value && *value; value++)
	putchar(*value == '\n' ? '\002' : *value);
}

static void metric(const char *line)
{
    pmMetricSpec *spec;
    char *error, kind[2] = "0";
    int i, sts = pmParseMetricSpec(line, 0, "default", &spec, &error);

    if (sts < 0) {
	text("error", error);
	return;
    }
    kind[0] += spec->isarch;
    text("kind", kind);
    text("source", spec->source);
    text("metric", spec->metric);
    for (i = 0; i < spec->ninst; i++)
	text("instance", spec->inst[i]);
}

static void host(const char *line)
{
    struct host *hosts;
    struct table attrs;
    struct node *n;
    char *error = NULL, buf[64];
    int i, j, count = 0, sts;

    memset(&attrs, 0, sizeof(attrs));
    sts = __pmParseHostAttrsSpec(line, &hosts, &count, &attrs, &error);
    if (sts < 0) {
	text("error", sts == PM_ERR_GENERIC ? error : pmErrStr(sts));
	return;
    }
    for (i = 0; i < count; i++) {
	text("host", hosts[i].name);
	for (j = 0; j < hosts[i].nports; j++) {
	    pmsprintf(buf, sizeof(buf), "%d", hosts[i].ports[j]);
	    text("port", buf);
	}
    }
    for (i = 0; i < attrs.size; i++)
	for (n = attrs.chains[i]; n; n = n->next) {
	    __pmAttrKeyStr_r(n->key, buf, sizeof(buf));
	    text(buf, n->value);
	}
}

int main(int argc, char **argv)
{
    static char line[65536];

    while (argc > 1 && fgets(line, sizeof(line), stdin)) {
	line[strcspn(line, "\n")] = '\0';
	(argv[1][0] == 'h' ? host : metric)(line);
	putchar('\n');
    }
    return 0;
}
