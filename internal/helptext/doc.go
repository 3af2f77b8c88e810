// Package helptext reads and writes the help texts of metrics and instance domains that an agent
// has in files: the source form that people write, and the pair of files that newhelp(1) compiles
// from it.
//
//	var p helptext.Parser
//	if err := p.Parse("help", file); err != nil {
//		return err
//	}
//	dir, pag, err := helptext.Compile(p.Entries) // the contents of help.dir and help.pag
//
// An agent does not need this package: see Agent.UseHelp of package pmda. The commands
// examples/newhelp and examples/chkhelp compile and print help texts.
//
// # Source
//
//	# A line that begins with # is a comment.
//	@ cache.hits  Lookups served from memory
//	The text may have many lines.
//
//	Blank lines are part of it, except at its end.
//	@ 251.0.4  A metric may be named by its PMID
//	@ 251.1  The instance domain 1 of the agent 251
//
// An entry begins with @, the key of what it describes, and the one-line text. The lines up to the
// next entry are the long text. Lines before the first entry are ignored. A [Parser] reads a
// source; its field Resolve finds the PMIDs of names.
//
// # Compiled
//
// NAME.pag has the texts of the entries, in the order of the source:
//
//	"PcPh22\n", then for each entry "\n@ KEY " one-line text NUL long text NUL
//
// NAME.dir has a header and a record for each entry, of three words of 32 bits:
//
//	header   0x50635068   0x31320000                    number of entries
//	record   key          offset of the one-line text   offset of the long text
//
// The key is a PMID, or an instance domain with its highest bit set; the offsets are in
// NAME.pag. Metrics come first, then instance domains, each in the order of their lower 22
// bits. The byte order is that of the machine that compiled them. [Compile] makes the two
// files, [Decode] and [Read] read them.
//
// # The C names
//
//	newhelp                         Parser, Compile
//	pmdaOpenHelp                    Read
//	pmdaGetHelp, pmdaGetInDomHelp   Index
package helptext
