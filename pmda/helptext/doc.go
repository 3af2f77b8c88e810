// Package helptext reads and writes the help texts of metrics and instance domains
// that an agent has in files: the source form that people write, and the pair of
// files that newhelp(1) compiles of it.
//
// An agent needs nothing of this package: see Agent.UseHelp of package pmda.
//
// # Source
//
//	# A line that begins with # is a comment.
//	@ cache.hits  Lookups served from memory
//	The text may have many lines.
//
//	Blank lines are part of it, but for those at its end.
//	@ 251.0.4  A metric may be named by its PMID
//	@ 251.1  The instance domain 1 of the agent 251
//
// An entry begins with @, the key of what it describes, and the one-line text; the
// lines up to the next entry are the long one. What comes before the first entry is
// ignored. A [Parser] reads it.
//
// # Compiled
//
// NAME.pag has the texts, NAME.dir where in it they are:
//
//	NAME.pag                             NAME.dir, 12 bytes each
//	0  "PcPh22\n"                        uint32  0x50635068   the key
//	   then for each entry               uint32  0x31320000   offset of the one-line text
//	   "\n@ KEY " one-line NUL text NUL  uint32  entries      offset of the long text
//
// The second column begins with the header; the third says what an entry has in the
// place of its fields. The key is a PMID, or an instance domain with its highest bit
// set. Metrics come first, then instance domains, each by their lower 22 bits. The
// byte order is that of the machine that compiled it. [Compile] makes the two files,
// [Decode] and [Read] read them.
//
// # The C names
//
//	newhelp                      Parser, Compile
//	pmdaOpenHelp                 Read
//	pmdaGetHelp, pmdaGetInDomHelp  Index
package helptext
