/*
 * Writes an MMV file with PCP's libpcp_mmv, as standard input says, and prints the file's path. One command per line,
 * fields separated by "|"; an empty text is none. Units are the 32-bit number in hexadecimal.
 *
 *   file      PATH CLUSTER FLAGS            first; the path begins with a slash
 *   init      1 | 2                         use mmv_stats_init or mmv_stats2_init, instead of a registry
 *   indom     SERIAL SHORT LONG
 *   instance  SERIAL ID NAME
 *   metric    NAME ITEM TYPE SEM UNITS SERIAL SHORT LONG
 *   label     cluster|indom|item|instance SERIAL-OR-ITEM ID NAME VALUE TYPE OPTIONAL
 *   start                                   then values
 *   set       METRIC INSTANCE NUMBER
 *   add       METRIC INSTANCE NUMBER
 *   string    METRIC INSTANCE TEXT
 *   begin     METRIC INSTANCE               an interval
 *   bits      METRIC INSTANCE WORD EXTRA    what the record of the value has, in hexadecimal
 *   wait                                    read standard input to its end, then stop
 *
 * gcc -o mmvwrite mmvwrite.c -lpcp_mmv -lpcp
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>
#include <pcp/mmv_dev.h>

enum { FIELDS = 12, MANY = 128 * 1024 };

static char line[64 * 1024];
static int number;		/* of the line */
static char *field[FIELDS];
static char *path;
static int cluster, flags, version;
static mmv_registry_t *registry;
static mmv_metric2_t metrics[MANY];
static mmv_indom2_t indoms[MANY];
static mmv_metric_t shortMetrics[MANY];
static mmv_indom_t shortIndoms[MANY];
static int nmetrics, nindoms;
static void *addr;

static void
fail(const char *what)
{
    fprintf(stderr, "mmvwrite: line %d: %s: %s\n", number, what, strerror(errno));
    exit(1);
}

static char *
text(int i)
{
    return field[i] && *field[i] ? strdup(field[i]) : NULL;
}

static long long
num(int i, int base)
{
    return field[i] ? (long long)strtoull(field[i], NULL, base) : 0;
}

static void
addIndom(void)
{
    mmv_indom2_t *d = &indoms[nindoms++];

    d->serial = num(1, 10);
    d->shorttext = text(2);
    d->helptext = text(3);
    if (!version && mmv_stats_add_indom(registry, d->serial, d->shorttext, d->helptext) < 0)
	fail("mmv_stats_add_indom");
}

static void
addInstance(void)
{
    mmv_indom2_t *d;

    /* the result is -1 in PCP 6 even if the instance was added */
    if (!version) {
	mmv_stats_add_instance(registry, num(1, 10), num(2, 10), strdup(field[3]));
	return;
    }
    for (d = indoms; d < indoms + nindoms && d->serial != num(1, 10); d++)
	;
    d->instances = realloc(d->instances, (d->count + 1) * sizeof(*d->instances));
    d->instances[d->count].internal = num(2, 10);
    d->instances[d->count++].external = strdup(field[3]);
}

static void
addMetric(void)
{
    mmv_metric2_t *m = &metrics[nmetrics++];
    unsigned int units = num(5, 16);

    m->name = strdup(field[1]);
    m->item = num(2, 10);
    m->type = num(3, 10);
    m->semantics = num(4, 10);
    memcpy(&m->dimension, &units, sizeof(units));
    m->indom = num(6, 10);
    m->shorttext = text(7);
    m->helptext = text(8);
    if (!version && mmv_stats_add_metric(registry, m->name, m->item, m->type, m->semantics, m->dimension,
		m->indom, m->shorttext, m->helptext) < 0)
	fail("mmv_stats_add_metric");
}

static void
addLabel(void)
{
    int sts, id = num(2, 10), inst = num(3, 10), type = num(6, 10), optional = num(7, 10);
    const char *name = field[4], *value = field[5];

    if (strcmp(field[1], "cluster") == 0)
	sts = mmv_stats_add_registry_label(registry, name, value, type, optional);
    else if (strcmp(field[1], "indom") == 0)
	sts = mmv_stats_add_indom_label(registry, id, name, value, type, optional);
    else if (strcmp(field[1], "item") == 0)
	sts = mmv_stats_add_metric_label(registry, id, name, value, type, optional);
    else
	sts = mmv_stats_add_instance_label(registry, id, inst, name, value, type, optional);
    if (sts < 0)
	fail("label");
}

static void *
startShort(void)
{
    int i, k;

    for (i = 0; i < nmetrics; i++) {
	mmv_metric_t *m = &shortMetrics[i];
	snprintf(m->name, sizeof(m->name), "%s", metrics[i].name);
	m->item = metrics[i].item;
	m->type = metrics[i].type;
	m->semantics = metrics[i].semantics;
	m->dimension = metrics[i].dimension;
	m->indom = metrics[i].indom;
	m->shorttext = metrics[i].shorttext;
	m->helptext = metrics[i].helptext;
    }
    for (i = 0; i < nindoms; i++) {
	mmv_indom_t *d = &shortIndoms[i];
	d->serial = indoms[i].serial;
	d->count = indoms[i].count;
	d->shorttext = indoms[i].shorttext;
	d->helptext = indoms[i].helptext;
	d->instances = calloc(d->count, sizeof(*d->instances));
	for (k = 0; k < d->count; k++) {
	    d->instances[k].internal = indoms[i].instances[k].internal;
	    snprintf(d->instances[k].external, sizeof(d->instances[k].external), "%s", indoms[i].instances[k].external);
	}
    }
    return mmv_stats_init(path, cluster, flags, shortMetrics, nmetrics, shortIndoms, nindoms);
}

static void
start(void)
{
    if (version == 1)
	addr = startShort();
    else if (version == 2)
	addr = mmv_stats2_init(path, cluster, flags, metrics, nmetrics, indoms, nindoms);
    else
	addr = mmv_stats_start(registry);
    if (addr == NULL)
	fail("start");
    printf("%s\n", path);
    fflush(stdout);
}

static void
value(void)
{
    pmAtomValue *v = mmv_lookup_value_desc(addr, field[1], field[2]);

    if (v == NULL) {
	errno = ENOENT;
	fail(field[1]);
    }
    switch (field[0][1]) {
    case 'e':			/* set; begin */
	if (field[0][0] == 'b')
	    mmv_stats_interval_start(addr, v, field[1], field[2]);
	else
	    mmv_set_value(addr, v, strtod(field[3], NULL));
	break;
    case 'd':			/* add */
	mmv_inc_value(addr, v, strtod(field[3], NULL));
	break;
    case 't':			/* string */
	mmv_set_string(addr, v, field[3], strlen(field[3]));
	break;
    case 'i':			/* bits */
	v->ull = num(3, 16);
	((mmv_disk_value_t *)v)->extra = num(4, 16);
	break;
    }
}

static void
command(void)
{
    if (strcmp(field[0], "file") == 0) {
	path = strdup(field[1]);
	cluster = num(2, 10);
	flags = num(3, 10);
	registry = mmv_stats_registry(path, cluster, flags);
    } else if (strcmp(field[0], "init") == 0)
	version = num(1, 10);
    else if (strcmp(field[0], "indom") == 0)
	addIndom();
    else if (strcmp(field[0], "instance") == 0)
	addInstance();
    else if (strcmp(field[0], "metric") == 0)
	addMetric();
    else if (strcmp(field[0], "label") == 0)
	addLabel();
    else if (strcmp(field[0], "start") == 0)
	start();
    else if (strcmp(field[0], "wait") == 0) {
	while (getchar() != EOF)
	    ;
	mmv_stats_stop(path, addr);
    } else
	value();
}

int
main(void)
{
    while (fgets(line, sizeof(line), stdin)) {
	char *p = line;
	int i;

	number++;
	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0')
	    continue;
	for (i = 0; i < FIELDS; i++)
	    field[i] = p ? strsep(&p, "|") : NULL;
	command();
    }
    return 0;
}
