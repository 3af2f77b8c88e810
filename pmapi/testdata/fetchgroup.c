/*
 * Puts a fetch group of the C library (pmCreateFetchGroup(3)) at the disposal of a
 * test: fetchgroup HOST. Every line on standard input is a command; its fields are
 * separated by tabs, and "-" is a null pointer.
 *
 *	item METRIC INSTANCE SCALE TYPE         answers the status
 *	set METRIC SCALE TYPE                   the same
 *	event METRIC INSTANCE FIELD SCALE TYPE  the same
 *	fetch                                   answers the status, then for every item
 *	                                        that was accepted, in their order, a line
 *	                                        "item STATUS VALUE", "set STATUS N" or
 *	                                        "event STATUS N", then N lines
 *	                                        "STATUS INSTANCE NAME VALUE" for a set and
 *	                                        "STATUS SECONDS VALUE" for events, and "."
 *
 * Fields of an answer are separated by tabs. Texts are hexadecimal, with "=" before
 * them. Floating point numbers are in the form of %a.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

#define MOST 8192
#define ROWS 300

struct slot {
	char kind; /* i, s or e */
	int type, status;
	unsigned int n;
	pmAtomValue *values;
	int *codes, *statuses;
	char **names;
	struct timespec *times;
};

static struct slot slots[MOST];
static int used;

static void text(const char *s)
{
	if (s == NULL) {
		printf("-");
		return;
	}
	putchar('=');
	for (; *s; s++)
		printf("%02x", *s & 0xff);
}

static void value(int type, pmAtomValue *v)
{
	switch (type) {
	case PM_TYPE_32: printf("%d", v->l); break;
	case PM_TYPE_U32: printf("%u", v->ul); break;
	case PM_TYPE_64: printf("%lld", (long long)v->ll); break;
	case PM_TYPE_U64: printf("%llu", (unsigned long long)v->ull); break;
	case PM_TYPE_FLOAT: printf("%a", v->f); break;
	case PM_TYPE_DOUBLE: printf("%a", v->d); break;
	case PM_TYPE_STRING: text(v->cp); break;
	default: printf("?");
	}
}

static void fetch(pmFG group)
{
	printf("%d\n", pmFetchGroup(group));
	for (int i = 0; i < used; i++) {
		struct slot *s = &slots[i];
		if (s->kind == 'i') {
			printf("item\t%d\t", s->status);
			value(s->type, s->values);
			putchar('\n');
			continue;
		}
		printf("%s\t%d\t%u\n", s->kind == 's' ? "set" : "event", s->status, s->n);
		for (unsigned int j = 0; j < s->n; j++) {
			printf("%d\t", s->statuses[j]);
			if (s->kind == 's') {
				printf("%d\t", s->codes[j]);
				text(s->names[j]);
			} else
				printf("%lld.%09ld", (long long)s->times[j].tv_sec, (long)s->times[j].tv_nsec);
			putchar('\t');
			value(s->type, &s->values[j]);
			putchar('\n');
		}
	}
	puts(".");
}

static char *field(char **line)
{
	char *f = strsep(line, "\t");
	if (f == NULL) {
		fprintf(stderr, "fetchgroup: a field is missing\n");
		exit(2);
	}
	return strcmp(f, "-") == 0 ? NULL : f;
}

static void extend(pmFG group, const char *kind, char *rest)
{
	struct slot *s = &slots[used];
	const char *metric = field(&rest), *inst, *f, *scale;
	int sts;

	if (used == MOST) {
		fprintf(stderr, "fetchgroup: too many items\n");
		exit(2);
	}
	s->kind = kind[0];
	s->values = calloc(ROWS, sizeof *s->values);
	s->statuses = calloc(ROWS, sizeof *s->statuses);
	s->codes = calloc(ROWS, sizeof *s->codes);
	s->names = calloc(ROWS, sizeof *s->names);
	s->times = calloc(ROWS, sizeof *s->times);
	switch (s->kind) {
	case 'i':
		inst = field(&rest), scale = field(&rest);
		s->type = atoi(field(&rest));
		sts = pmExtendFetchGroup_item(group, metric, inst, scale, s->values, s->type, &s->status);
		break;
	case 's':
		scale = field(&rest);
		s->type = atoi(field(&rest));
		sts = pmExtendFetchGroup_indom(group, metric, scale, s->codes, s->names, s->values, s->type,
			s->statuses, ROWS, &s->n, &s->status);
		break;
	default:
		inst = field(&rest), f = field(&rest), scale = field(&rest);
		s->type = atoi(field(&rest));
		sts = pmExtendFetchGroup_event(group, metric, inst, f, scale, s->times, s->values, s->type,
			s->statuses, ROWS, &s->n, &s->status);
	}
	if (sts >= 0)
		used++;
	printf("%d\n", sts);
}

int main(int argc, char **argv)
{
	static char line[4096];
	pmFG group;
	int sts;

	if (argc != 2) {
		fprintf(stderr, "usage: fetchgroup HOST\n");
		return 2;
	}
	sts = pmCreateFetchGroup(&group, PM_CONTEXT_HOST, argv[1]);
	if (sts < 0) {
		fprintf(stderr, "fetchgroup: %s\n", pmErrStr(sts));
		return 1;
	}
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *rest = line, *command;
		line[strcspn(line, "\n")] = '\0';
		command = strsep(&rest, "\t");
		if (strcmp(command, "fetch") == 0)
			fetch(group);
		else
			extend(group, command, rest);
		fflush(stdout);
	}
	return 0;
}
