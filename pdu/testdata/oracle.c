/* The reference's answers, for interop tests: reads questions, one a line, and
 * writes one line for each. Build: gcc oracle.c -lpcp */
#include <pcp/pmapi.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void quietly(const char *s) { (void)s; }

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

int main(int argc, char **argv)
{
	static char line[1 << 19], out[512];
	const char *what = argc > 1 ? argv[1] : "";

	(void)quietly;
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
		else if (!strcmp(what, "addlabels"))
			addlabels(line);
		else if (!strcmp(what, "mergelabels"))
			mergelabels(line);
		else
			return 2;
		fflush(stdout);
	}
	return 0;
}
