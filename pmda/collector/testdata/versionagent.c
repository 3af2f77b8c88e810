/*
 * An agent of an interface version, which notes in a file how libpcp_pmda calls it.
 *
 *	versionagent VERSION FLAGS FILE [unix PATH | inet PORT]
 *
 * Lines of the file: check, done, result, profile, fetch, end CLIENT, attr CLIENT KEY VALUE, label TYPE,
 * pmid NAME, name PMID, children NAME.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *notes;

static pmdaMetric table[] = {
	{ NULL, { PMDA_PMID(0,0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0,0,0,0,0,0) } },
};

static int value(pmdaMetric *m, unsigned int inst, pmAtomValue *v)
{
	fprintf(notes, "fetch\n");
	v->l = 7;
	return 1;
}

static int check(void) { fprintf(notes, "check\n"); return 0; }
static void done(void) { fprintf(notes, "done\n"); fflush(notes); }
static void sent(pmResult *r) { fprintf(notes, "result\n"); }
static void ended(int client) { fprintf(notes, "end %d\n", client); }

static int profile(pmProfile *p, pmdaExt *e)
{
	fprintf(notes, "profile\n");
	return pmdaProfile(p, e);
}

static int attribute(int client, int key, const char *v, int len, pmdaExt *e)
{
	fprintf(notes, "attr %d %d %s\n", client, key, v);
	return 0;
}

static int label(int ident, int type, pmLabelSet **sets, pmdaExt *e)
{
	fprintf(notes, "label %d\n", type);
	return pmdaLabel(ident, type, sets, e);
}

static int pmid(const char *name, pmID *id, pmdaExt *e)
{
	fprintf(notes, "pmid %s\n", name);
	return PM_ERR_NAME;
}

static int names(pmID id, char ***list, pmdaExt *e)
{
	fprintf(notes, "name %s\n", pmIDStr(id));
	return PM_ERR_PMID;
}

static int children(const char *name, int traverse, char ***list, int **status, pmdaExt *e)
{
	fprintf(notes, "children %s %d\n", name, traverse);
	return PM_ERR_NAME;
}

int main(int argc, char **argv)
{
	pmdaInterface d = { 0 };
	int version, flags;

	if (argc != 4 && argc != 6)
		return 2;
	version = atoi(argv[1]);
	flags = atoi(argv[2]);
	if ((notes = fopen(argv[3], "a")) == NULL)
		return 3;
	pmSetProgname(argv[0]);
	pmdaDaemon(&d, version, "versionagent", 30, NULL, NULL);
	if (argc == 6) {
		if (!strcmp(argv[4], "unix")) {
			d.version.any.ext->e_io = pmdaUnix;
			d.version.any.ext->e_sockname = argv[5];
		} else {
			d.version.any.ext->e_io = pmdaInet;
			d.version.any.ext->e_port = atoi(argv[5]);
		}
	}
	if (flags)
		pmdaSetCommFlags(&d, flags);
	pmdaSetFetchCallBack(&d, value);
	pmdaSetCheckCallBack(&d, check);
	pmdaSetDoneCallBack(&d, done);
	pmdaSetResultCallBack(&d, sent);
	d.version.any.profile = profile;
	if (version >= 4) {
		d.version.four.pmid = pmid;
		d.version.four.name = names;
		d.version.four.children = children;
	}
	if (version >= 5)
		pmdaSetEndContextCallBack(&d, ended);
	if (version >= 6)
		d.version.six.attribute = attribute;
	if (version >= 7)
		d.version.seven.label = label;
	pmdaInit(&d, NULL, 0, table, 1);
	pmdaConnect(&d);
	pmdaMain(&d);
	return 0;
}
