/*
 * Derived describes and fetches derived metrics with the C library.
 *
 *	derived archive|host SOURCE COUNT < EXPRESSIONS
 *
 * For each line of the standard input there is one of the output:
 *
 *	syntax OFFSET MESSAGE	the expression is refused
 *	desc CODE		it has no descriptor
 *	type=.. ... | [n=1 -1:5] ...	its descriptor, and the values of COUNT fetches
 *	crash			what the C library did
 *
 * A process of its own computes each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>

static void
value(const pmValueSet *set, int i, int type)
{
	pmAtomValue a;

	if (type < 0 || type > PM_TYPE_DOUBLE) {
		printf("<>");
		return;
	}
	if (pmExtractValue(set->valfmt, &set->vlist[i], type, &a, type) < 0) {
		printf("?");
		return;
	}
	switch (type) {
	case PM_TYPE_32:
		printf("%d", a.l);
		break;
	case PM_TYPE_U32:
		printf("%u", a.ul);
		break;
	case PM_TYPE_64:
		printf("%lld", (long long)a.ll);
		break;
	case PM_TYPE_U64:
		printf("%llu", (unsigned long long)a.ull);
		break;
	case PM_TYPE_FLOAT:
		printf("%.9g", a.f);
		break;
	default:
		printf("%.17g", a.d);
	}
}

static void
fetches(pmID id, const pmDesc *desc, int count)
{
	pmResult *r;
	int sts, i;

	while (count-- > 0) {
		if ((sts = pmFetch(1, &id, &r)) < 0) {
			printf(" [%d]", sts);
			return;
		}
		printf(" [n=%d", r->vset[0]->numval);
		for (i = 0; i < r->vset[0]->numval && i < 20; i++) {
			printf(" %d:", r->vset[0]->vlist[i].inst);
			value(r->vset[0], i, desc->type);
		}
		printf("]");
		pmFreeResult(r);
	}
}

static void
metric(int type, const char *source, const char *expr, int count)
{
	const char *name = "q.m";
	char *where, *message;
	pmDesc desc;
	pmID id;
	int sts;

	if ((sts = pmNewContext(type, source)) < 0) {
		printf("context %d", sts);
		return;
	}
	if ((where = pmAddDerived(name, expr)) != NULL) {
		message = pmDerivedErrStr();
		printf("syntax %ld %s", (long)(where - expr), message ? message : "");
		return;
	}
	if ((sts = pmLookupName(1, &name, &id)) < 0) {
		printf("name %d", sts);
		return;
	}
	if ((sts = pmLookupDesc(id, &desc)) < 0) {
		printf("desc %d", sts);
		return;
	}
	printf("type=%d indom=%d sem=%d units=%s |", desc.type, desc.indom, desc.sem, pmUnitsStr(&desc.units));
	fetches(id, &desc, count);
}

int
main(int argc, char **argv)
{
	char line[65536];
	int status;
	pid_t child;

	if (argc != 4)
		return 2;
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		fflush(stdout);
		if ((child = fork()) == 0) {
			if (freopen("/dev/null", "w", stderr) == NULL)
				_exit(1);
			alarm(20);
			metric(strcmp(argv[1], "archive") == 0 ? PM_CONTEXT_ARCHIVE : PM_CONTEXT_HOST, argv[2], line, atoi(argv[3]));
			fflush(stdout);
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child)
			return 1;
		printf("%s\n", WIFEXITED(status) ? "" : " crash");
	}
	return 0;
}
