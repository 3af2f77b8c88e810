// Package logrewrite changes what an archive says of its metrics: it is pmlogrewrite(1) as a library. Rules say what changes,
// a Plan applies them to one archive and says what does, and Plan.Write writes another archive.
//
//	rules, err := logrewrite.Parse("rules", file) // or logrewrite.Rules{Rules: []logrewrite.Rule{…}}
//	…
//	err = logrewrite.Options{}.Rewrite(ctx, "web1/20261123", "web1/20261123.new", rules)
//
// # Rules
//
// The language is that of PCP 6.0.3, with its errors and warnings, which have their line, and with the clauses of PCP 7:
//
//	global { hostname -> web2 tz -> "UTC" time -> -1:30:00 }
//	indom 60.2 { inst 1 -> 60 iname "1 minute" -> "60 second" iname "5 minute" -> delete indom -> duplicate 61.* }
//	metric disk.dev.read { type -> U64 name -> disk.dev.reads units -> 0,0,1,0,0,ONE sem -> counter }
//	metric 60.8.* { pmid -> 3.*.* }
//	metric kernel.all.load { indom -> NULL output inst 15 }
//	text metric 60.0.4 help { text -> "reads" }
//	label domain 60 "agent" { value -> "linux" }
//	indom 3.9 { iname replace /^([0-9]+ [^ ]+) .*/ -> "\1 ..." }
//	metric kernel.uname.nodename { value /^[^.]*/ -> "host" }
//
// What follows from a rule changes, too: with an instance domain its metrics, texts and labels, with a metric its texts
// and labels.
//
// # What differs from the C program
//
//   - Two clauses in one TEXT or LABEL rule apply one after the other; the C program aborts, or forgets the second.
//   - INDOM with a star moves all instance domains that match; the C program refuses the second one. So it does a metric's move to
//     an instance domain whose instances change, or that is a new one, and takes INDOM -> NULL for something else after a
//     star.
//   - A time shift applies once to every record; the C program applies it again to metadata that has to wait.
//   - Metadata after a record of an instance domain of which no instance remains is kept.
//   - What would make an archive that cannot be read, such as two different metrics with one identifier, is an error.
//   - Labels of clusters that move get an identifier that can be found, and those with a new name are where the index of
//     their set says.
//   - Where two instances change places, each gets the other's identifier; the C program gives both the same.
//   - Strings and old floats stay as they are, but a float that lies in the place of an integer gets a block if the metric
//     changes.
//   - Of several archives all have their metadata copied, not the first one alone.
//   - If no data record could be read, or none is left, there is no archive, where the C program leaves one that cannot be opened.
//   - Options.Trace tells the place of the first data record of a volume in that volume; the C program tells the end of the
//     one before.
//   - No descriptor gets lost that stands after one of a metric that no later data record has.
//   - Where a value cannot be converted after others of its metric that moved into or out of blocks, ConvertError.Record has
//     those; the C program crashes when it prints them.
//
// # Memory and concurrency
//
// A Plan has the metadata of the archive in memory, as archive.Set has. Data records are copied one by one. A Plan is for one
// goroutine at a time.
package logrewrite
