/* The reference's answers, for interop tests: reads questions, one a line, and
 * writes one line for each. Text and value bytes are in hexadecimal, "-" if
 * there are none. pcptest.Oracle builds and runs it. */
#include <pcp/pmapi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern int __pmAddLabels(pmLabelSet **, const char *, int);

/* unhex decodes "-" or hexadecimal digits into a NUL-terminated buffer. */
static char *unhex(const char *s, int *len)
{
	int n = s == NULL || *s == '-' ? 0 : strlen(s) / 2;
	char *b = calloc(1, n + 16);
	for (int i = 0; i < n; i++) {
		unsigned int v;
		sscanf(s + 2 * i, "%2x", &v);
		b[i] = v;
	}
	if (len)
		*len = n;
	return b;
}

static void hex(const void *p, int n)
{
	if (n == 0)
		putchar('-');
	for (int i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)p)[i]);
}

/* extract: valfmt itype otype vtype value → status [value] */
static void extract(char *l)
{
	int valfmt, itype, otype, vtype, n, sts;
	char arg[4096];
	pmValue v;
	pmAtomValue a;

	sscanf(l, "%d %d %d %d %4095s", &valfmt, &itype, &otype, &vtype, arg);
	char *b = unhex(arg, &n);
	v.inst = PM_IN_NULL;
	if (valfmt == PM_VAL_INSITU)
		memcpy(&v.value.lval, b, 4);
	else {
		v.value.pval = calloc(1, PM_VAL_HDR_SIZE + n + 16);
		v.value.pval->vtype = vtype;
		v.value.pval->vlen = PM_VAL_HDR_SIZE + n;
		memcpy(v.value.pval->vbuf, b, n);
	}
	sts = pmExtractValue(valfmt, &v, itype, &a, otype);
	printf("%d", sts);
	if (sts >= 0) {
		putchar(' ');
		switch (otype) {
		case PM_TYPE_32: case PM_TYPE_U32: case PM_TYPE_FLOAT: hex(&a.l, 4); break;
		case PM_TYPE_64: case PM_TYPE_U64: case PM_TYPE_DOUBLE: hex(&a.ll, 8); break;
		case PM_TYPE_STRING: hex(a.cp, strlen(a.cp)); break;
		default: hex(a.vbp->vbuf, a.vbp->vlen - PM_VAL_HDR_SIZE);
		}
	}
	putchar('\n');
}

static void addlabels(char *l)
{
	int flags;
	char arg[1 << 18];
	pmLabelSet *set = NULL;

	if (sscanf(l, "%d %262143s", &flags, arg) != 2)
		exit(2);
	int sts = __pmAddLabels(&set, unhex(arg, NULL), flags);
	printf("%d", sts);
	if (sts >= 0 && set) {
		putchar(' ');
		hex(set->json, set->jsonlen);
		for (int i = 0; i < set->nlabels; i++)
			printf(" %d,%d,%d,%d,%d", set->labels[i].name, set->labels[i].namelen,
			    set->labels[i].flags, set->labels[i].value, set->labels[i].valuelen);
	}
	putchar('\n');
}

static void mergelabels(char *l)
{
	static char buf[1 << 17];
	char *in[16], *p;
	int n = 0;

	for (p = strtok(l, " "); p && n < 16; p = strtok(NULL, " "))
		in[n++] = unhex(p, NULL);
	buf[0] = '\0';
	int sts = pmMergeLabels(in, n, buf, sizeof buf);
	printf("%d ", sts);
	hex(buf, sts > 0 ? sts : 0);
	putchar('\n');
}

static int notoptional(const pmLabel *label, const char *json, void *arg)
{
	return (label->flags & PM_LABEL_OPTIONAL) == 0;
}

/* mergelabelsets: whether optional labels are left out, then flags and JSON of each set → status JSON */
static void mergelabelsets(char *l)
{
	static char buf[1 << 17];
	pmLabelSet *sets[16] = { NULL };
	char *p, *json;
	int cull, flags, n = 0, sts = 0;

	cull = atoi(strtok(l, " "));
	while ((p = strtok(NULL, " ")) != NULL && n < 16) {
		flags = atoi(p);
		json = strtok(NULL, " ");
		if ((sts = __pmAddLabels(&sets[n++], unhex(json, NULL), flags)) < 0)
			break;
	}
	if (sts >= 0)
		sts = pmMergeLabelSets(sets, n, buf, sizeof buf, cull ? notoptional : NULL, NULL);
	printf("%d ", sts);
	hex(buf, sts > 0 ? sts : 0);
	putchar('\n');
}

/* block makes a value block of machine bytes. */
static pmValueBlock *block(int vtype, const char *b, int n)
{
	pmValueBlock *p = calloc(1, PM_VAL_HDR_SIZE + n + 16);
	p->vtype = vtype;
	p->vlen = PM_VAL_HDR_SIZE + n;
	memcpy(p->vbuf, b, n);
	return p;
}

/* atomstr: type value → text */
static void atomstr(char *l)
{
	int type, n;
	static char arg[1 << 16];
	char out[512];
	pmAtomValue a;

	if (sscanf(l, "%d %65535s", &type, arg) != 2)
		exit(2);
	char *b = unhex(arg, &n);
	if (type == PM_TYPE_STRING)
		a.cp = b;
	else if (type >= PM_TYPE_AGGREGATE && type <= PM_TYPE_HIGHRES_EVENT)
		a.vbp = block(type, b, n);
	else
		memcpy(&a, b, sizeof a);
	pmAtomStr_r(&a, type, out, sizeof out);
	hex(out, strlen(out));
	putchar('\n');
}

/* print: valfmt type vtype width value → text */
static void print(char *l)
{
	int valfmt, type, vtype, width, n;
	static char arg[1 << 16];
	char *text;
	size_t len;
	pmValue v;

	if (sscanf(l, "%d %d %d %d %65535s", &valfmt, &type, &vtype, &width, arg) != 5)
		exit(2);
	char *b = unhex(arg, &n);
	v.inst = PM_IN_NULL;
	if (valfmt == PM_VAL_INSITU)
		memcpy(&v.value.lval, b, 4);
	else
		v.value.pval = block(vtype, b, n);
	FILE *f = open_memstream(&text, &len);
	pmPrintValue(f, valfmt, type, &v, width);
	fclose(f);
	hex(text, len);
	putchar('\n');
}

/* number: bits → text */
static void number(char *l)
{
	uint64_t bits = strtoull(l, NULL, 16);
	double d;
	char out[64];

	memcpy(&d, &bits, sizeof d);
	puts(pmNumberStr_r(d, out, sizeof out));
}

/* clock_gettime stands for that of the C library, which has the time that the question "window" sets. */
static time_t wall_clock;

int clock_gettime(clockid_t id, struct timespec *t)
{
	t->tv_sec = wall_clock;
	t->tv_nsec = 0;
	return 0;
}

/* option decodes the argument of an option; "." is an option that is not given. */
static char *option(const char *s)
{
	return *s == '.' ? NULL : unhex(s, NULL);
}

/* window: zone now start.nanoseconds end.nanoseconds -S -T -A -O → status start end origin [message]
 * A negative end is none. */
static void window(char *l)
{
	char zone[256], S[8192], T[8192], A[8192], O[8192], *err = NULL;
	long long now, first, last;
	long nfirst, nlast;
	static char current[256];

	if (sscanf(l, "%255s %lld %lld.%ld %lld.%ld %8191s %8191s %8191s %8191s", zone, &now, &first, &nfirst, &last, &nlast,
	    S, T, A, O) != 10)
		exit(2);
	if (strcmp(zone, current)) {
		strcpy(current, zone);
		if (pmNewZone(unhex(zone, NULL)) < 0)
			exit(2);
	}
	wall_clock = now;
	struct timespec s = { first, nfirst }, e = { last < 0 ? PM_MAX_TIME_T : last, nlast }, start = { 0 }, end = { 0 }, origin = { 0 };
	int sts = pmParseHighResTimeWindow(option(S), option(T), option(A), option(O), &s, &e, &start, &end, &origin, &err);
	printf("%d %lld.%09ld %lld.%09ld %lld.%09ld ", sts, (long long)start.tv_sec, start.tv_nsec, (long long)end.tv_sec, end.tv_nsec,
	    (long long)origin.tv_sec, origin.tv_nsec);
	if (sts < 1 && err)
		hex(err, strlen(err));
	putchar('\n');
}

/* stamp: zone seconds nanoseconds → pmCtime, pmPrintStamp, pmPrintHighResStamp, in hexadecimal */
static void stamp(char *l)
{
	char zone[256], text[64];
	long long sec;
	long nsec;

	if (sscanf(l, "%255s %lld %ld", zone, &sec, &nsec) != 3 || pmNewZone(unhex(zone, NULL)) < 0)
		exit(2);
	time_t t = sec;
	struct timeval tv = { sec, nsec / 1000 };
	struct timespec ts = { sec, nsec };
	pmCtime(&t, text);
	hex(text, strlen(text));
	putchar(' ');
	pmPrintStamp(stdout, &tv);
	putchar(' ');
	pmPrintHighResStamp(stdout, &ts);
	putchar('\n');
}

/* desc: type semantics units → text */
static void desc(char *l)
{
	pmDesc d = { .pmid = 1, .indom = PM_INDOM_NULL };
	uint32_t units;
	char *text;
	size_t len;

	if (sscanf(l, "%d %d %x", &d.type, &d.sem, &units) != 3)
		exit(2);
	memcpy(&d.units, &units, sizeof units);
	FILE *f = open_memstream(&text, &len);
	pmPrintDesc(f, &d);
	fclose(f);
	hex(text, len);
	putchar('\n');
}

/* interval: text → status seconds nanoseconds [message] */
static void interval(char *l)
{
	struct timespec t = { 0 };
	char *err = NULL;
	int sts = pmParseHighResInterval(unhex(l, NULL), &t, &err);

	printf("%d %lld %ld ", sts, (long long)t.tv_sec, t.tv_nsec);
	if (sts < 0)
		hex(err, strlen(err));
	putchar('\n');
}

static sigjmp_buf crash;

static void crashed(int sig) { siglongjmp(crash, sig); }

/* convscale: type units units value → status value */
static void convscale(char *l)
{
	int type;
	uint32_t from, to;
	uint64_t bits;
	pmUnits in, out;
	pmAtomValue a, r;

	if (sscanf(l, "%d %x %x %lx", &type, &from, &to, &bits) != 4)
		exit(2);
	memcpy(&in, &from, sizeof in);
	memcpy(&out, &to, sizeof out);
	memset(&r, 0, sizeof r);
	memcpy(&a, &bits, 8);
	if (sigsetjmp(crash, 1) != 0) {
		puts("crash");
		return;
	}
	int sts = pmConvScale(type, &a, &in, &r, &out);
	memcpy(&bits, &r, 8);
	printf("%d %lx\n", sts, sts < 0 ? 0 : bits);
}

/* sort: instances → instances */
static void sort(char *l)
{
	char *p;
	pmResult *r = calloc(1, sizeof *r);
	pmValueSet *s = calloc(1, sizeof *s + 1000 * sizeof(pmValue));

	for (p = strtok(l, " "); p && s->numval < 1000; p = strtok(NULL, " "))
		s->vlist[s->numval++].inst = strtol(p, NULL, 10);
	r->numpmid = 1;
	r->vset[0] = s;
	pmSortInstances(r);
	for (int i = 0; i < s->numval; i++)
		printf("%d%s", s->vlist[i].inst, i + 1 < s->numval ? " " : "");
	putchar('\n');
}

/* events: type array → count, records of @time and metric,instance=[type:]value */
static void events(char *l)
{
	int type, n, sts;
	static char arg[1 << 16];
	pmValueSet s = { .numval = 1, .valfmt = PM_VAL_DPTR };
	pmResult **lo = NULL;
	pmHighResResult **hi = NULL;

	if (sscanf(l, "%d %65535s", &type, arg) != 2)
		exit(2);
	char *b = unhex(arg, &n);
	s.vlist[0].inst = PM_IN_NULL;
	s.vlist[0].value.pval = block(type, b, n);
	if (type == PM_TYPE_HIGHRES_EVENT)
		sts = pmUnpackHighResEventRecords(&s, 0, &hi);
	else
		sts = pmUnpackEventRecords(&s, 0, &lo);
	printf("%d", sts);
	for (int i = 0; i < sts; i++) {
		int sets = lo ? lo[i]->numpmid : hi[i]->numpmid;
		if (lo)
			printf(" @%ld.%06ld", (long)lo[i]->timestamp.tv_sec, (long)lo[i]->timestamp.tv_usec);
		else
			printf(" @%ld.%09ld", (long)hi[i]->timestamp.tv_sec, (long)hi[i]->timestamp.tv_nsec);
		for (int j = 0; j < sets; j++) {
			pmValueSet *v = lo ? lo[i]->vset[j] : hi[i]->vset[j];
			printf(" %08x,%d=", v->pmid, v->vlist[0].inst);
			if (v->valfmt == PM_VAL_INSITU)
				hex(&v->vlist[0].value.lval, 4);
			else {
				printf("%d:", v->vlist[0].value.pval->vtype);
				hex(v->vlist[0].value.pval->vbuf, v->vlist[0].value.pval->vlen - PM_VAL_HDR_SIZE);
			}
		}
	}
	putchar('\n');
}

/* field prints a part of what was parsed. */
static void field(const char *name, const char *value)
{
	printf(" %s=", name);
	hex(value, value ? strlen(value) : 0);
}

/* metricspec: text → fields */
static void metricspec(char *l)
{
	pmMetricSpec *spec;
	char *error;

	if (pmParseMetricSpec(unhex(l, NULL), 0, "default", &spec, &error) < 0)
		field("error", error);
	else {
		printf(" kind=%d", spec->isarch);
		field("source", spec->source);
		field("metric", spec->metric);
		for (int i = 0; i < spec->ninst; i++)
			field("instance", spec->inst[i]);
	}
	putchar('\n');
}

/* What PCP 6.0.3 has on a 64-bit system: the library exports these, but their header is not installed. */
struct hostspec { char *name; int *ports, nports; };
struct attrnode { struct attrnode *next; unsigned int key; char *value; };
struct attrtable { int nodes, size; struct attrnode **chains; void *more[8]; };
extern int __pmParseHostAttrsSpec(const char *, struct hostspec **, int *, struct attrtable *, char **);
extern int __pmAttrKeyStr_r(unsigned int, char *, size_t);

/* hostspec: text → fields, the attributes in any order */
static void hostspec(char *l)
{
	struct hostspec *hosts;
	struct attrtable attrs = { 0 };
	char *error, name[64];
	int count = 0;
	int sts = __pmParseHostAttrsSpec(unhex(l, NULL), &hosts, &count, &attrs, &error);

	if (sts < 0)
		field("error", sts == PM_ERR_GENERIC ? error : pmErrStr(sts));
	for (int i = 0; sts >= 0 && i < count; i++) {
		field("host", hosts[i].name);
		for (int j = 0; j < hosts[i].nports; j++)
			printf(" port=%d", hosts[i].ports[j]);
	}
	for (int i = 0; sts >= 0 && i < attrs.size; i++)
		for (struct attrnode *n = attrs.chains[i]; n; n = n->next) {
			__pmAttrKeyStr_r(n->key, name, sizeof name);
			field(name, n->value);
		}
	putchar('\n');
}

int main(int argc, char **argv)
{
	static char line[1 << 19], out[512];
	const char *what = argc > 1 ? argv[1] : "";

	signal(SIGFPE, crashed);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(what, "error"))
			puts(pmErrStr_r(atoi(line), out, sizeof out));
		else if (!strcmp(what, "type"))
			puts(pmTypeStr(atoi(line)));
		else if (!strcmp(what, "sem"))
			puts(pmSemStr(atoi(line)));
		else if (!strcmp(what, "pmid"))
			puts(pmIDStr(strtoul(line, NULL, 16)));
		else if (!strcmp(what, "indom"))
			puts(pmInDomStr(strtoul(line, NULL, 16)));
		else if (!strcmp(what, "eventflags"))
			puts(pmEventFlagsStr(strtoul(line, NULL, 16)));
		else if (!strcmp(what, "units")) {
			uint32_t w = strtoul(line, NULL, 16);
			pmUnits u;
			memcpy(&u, &w, sizeof u);
			puts(pmUnitsStr_r(&u, out, sizeof out));
		} else if (!strcmp(what, "parseunits")) {
			pmUnits u;
			double mult;
			char *err = NULL;
			uint32_t w;
			int sts = pmParseUnitsStr(unhex(line, NULL), &u, &mult, &err);
			memcpy(&w, &u, sizeof w);
			printf("%d %08x %.17g %s\n", sts, w, mult, sts < 0 && err ? err : "");
		} else if (!strcmp(what, "extract"))
			extract(line);
		else if (!strcmp(what, "atomstr"))
			atomstr(line);
		else if (!strcmp(what, "print"))
			print(line);
		else if (!strcmp(what, "number"))
			number(line);
		else if (!strcmp(what, "desc"))
			desc(line);
		else if (!strcmp(what, "interval"))
			interval(line);
		else if (!strcmp(what, "window"))
			window(line);
		else if (!strcmp(what, "stamp"))
			stamp(line);
		else if (!strcmp(what, "convscale"))
			convscale(line);
		else if (!strcmp(what, "metricspec"))
			metricspec(line);
		else if (!strcmp(what, "hostspec"))
			hostspec(line);
		else if (!strcmp(what, "sort"))
			sort(line);
		else if (!strcmp(what, "events"))
			events(line);
		else if (!strcmp(what, "addlabels"))
			addlabels(line);
		else if (!strcmp(what, "mergelabels"))
			mergelabels(line);
		else if (!strcmp(what, "mergelabelsets"))
			mergelabelsets(line);
		else
			return 2;
		fflush(stdout);
	}
	return 0;
}
