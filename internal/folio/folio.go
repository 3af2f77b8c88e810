// Package folio reads and writes archive folios: the files, such as mkaf makes, that name archives
// which belong together.
package folio

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

// A Folio is the content of such a file.
//
//	PCPFolio
//	Version: 1
//	Created: on vm at Mon Nov 23 04:53:00 UTC 2026
//	Creator: pmchart
//	Archive:        web1    20261123.00.10
type Folio struct {
	Magic, Version bool     // there are lines that begin with PCPFolio and with "Version:"
	Head           []string // the lines that begin with "Created:" or "Creator:"
	Created        string   // where and when, as in "on vm at Mon Nov 23 04:53:00 UTC 2026"
	Creator        string   // the program that made the folio, or is to replay it
	Config         string   // a file for it; empty without
	Archives       []Archive
}

// An Archive is one line of a folio that names an archive.
type Archive struct {
	Line int    // its number, from 1
	Host string // empty if it is missing
	Base string // the name of the archive; empty if it is missing
}

// Parse parses the text of a folio. It accepts any text, and leaves missing parts empty.
func Parse(text []byte) Folio {
	var f Folio
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "PCPFolio"):
			f.Magic = true
		case strings.HasPrefix(line, "Version:"):
			f.Version = true
		case strings.HasPrefix(line, "Creator:"):
			f.Head = append(f.Head, line)
			f.Creator, f.Config = word(words, 1), word(words, 2)
		case strings.HasPrefix(line, "Created:"):
			f.Head = append(f.Head, line)
			f.Created = strings.TrimSpace(line[len("Created:"):])
		case strings.HasPrefix(line, "Archive:"):
			f.Archives = append(f.Archives, Archive{n, word(words, 1), word(words, 2)})
		}
	}
	return f
}

// word is the word at an index, empty if there are not as many.
func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

// A Form is one of the wordings that PCP's programs use for a folio.
type Form struct {
	Date    string // layout of the date in Created
	title   string
	columns string // heading of the archives
}

// The forms of record mode and of mkaf(1).
var (
	Recorded = Form{"Mon Jan _2 15:04:05 2006", "Archive Folio", "               Host                    Basename"}
	Made     = Form{"Mon Jan _2 15:04:05 MST 2006", "archive folio", " \t\tHost\t\t\tBasename"}
)

// Append appends the text of a folio: its Created, Creator, Config and Archives.
func (form Form) Append(b []byte, f Folio) []byte {
	b = fmt.Appendf(b, "PCPFolio\nVersion: 1\n# use pmafm(1) to process this PCP %s\n#\nCreated: %s\nCreator: %s", form.title, f.Created, f.Creator)
	if f.Config != "" {
		b = append(append(b, ' '), f.Config...)
	}
	b = fmt.Appendf(b, "\n#%s\n#\n", form.columns)
	for _, a := range f.Archives {
		b = a.Append(b)
	}
	return b
}

// Append appends the line of an archive.
func (a Archive) Append(b []byte) []byte {
	return fmt.Appendf(b, "%-15s %-23s %s\n", "Archive:", a.Host, a.Base)
}
