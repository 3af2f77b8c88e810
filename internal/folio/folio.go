// Package folio reads archive folios: the files, such as mkaf makes, that name archives which belong together.
package folio

import (
	"bufio"
	"bytes"
	"strings"
)

// A Folio is what is in such a file.
//
//	PCPFolio
//	Version: 1
//	Created: on vm at Mon Nov 23 04:53:00 UTC 2026
//	Creator: pmchart
//	Archive:        web1    20261123.00.10
type Folio struct {
	Magic, Version bool     // there are lines that begin with PCPFolio and with "Version:"
	Head           []string // the lines that begin with "Created:" or "Creator:"
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

// Parse parses the text of a folio. It accepts any text: what is missing is empty.
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
