package remotewrite

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pmapi/export"
)

// labelsOf returns the sorted labels of a series. text is the text before its value in a page:
// name{label="value",…}.
func (e *encoder) labelsOf(text []byte) []byte {
	name, rest, _ := bytes.Cut(text, []byte("{"))
	all := append([]export.Label{{Name: "__name__", Value: string(name)}}, e.added...)
	for len(rest) > 0 && rest[0] != '}' {
		label, quoted, ok := bytes.Cut(rest, []byte(`="`))
		if !ok {
			break
		}
		n := endOfQuotes(quoted)
		l := export.Label{Name: string(label), Value: unescaped(string(quoted[:n]))}
		for slices.ContainsFunc(e.added, func(a export.Label) bool { return a.Name == l.Name }) {
			l.Name = "exported_" + l.Name
		}
		all = append(all, l)
		rest = bytes.TrimPrefix(quoted[min(n+1, len(quoted)):], []byte(","))
	}
	slices.SortStableFunc(all, func(a, b export.Label) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b export.Label) bool { return a.Name == b.Name })
	var b []byte
	for _, l := range all {
		if l.Name != "" && l.Value != "" { // for Prometheus, an empty label is no label
			b = appendLabel(b, l.Name, l.Value)
		}
	}
	return b
}

// endOfQuotes returns the index of the closing quote in b, or the length of b.
func endOfQuotes(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(b)
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)

func unescaped(s string) string { return unescaper.Replace(s) }

// describeFamily adds the metadata of a family to the next message if metadataEvery has passed.
// about has the comments before its samples.
func (e *encoder) describeFamily(f *family, about []byte, now int64) {
	if len(f.next) == 0 || f.describedAt != 0 && now-f.describedAt < metadataEvery.Milliseconds() {
		return
	}
	f.describedAt = max(now, 1)
	var kind byte
	var family, help, unit string
	for line := range bytes.Lines(about) {
		words := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 4) // "#", what, name, text
		if len(words) < 4 {
			continue
		}
		family = words[2]
		switch words[1] {
		case "TYPE":
			kind = kinds[words[3]]
		case "HELP":
			help = unescaped(words[3])
		case "UNIT":
			unit = words[3]
		}
	}
	if family != "" {
		e.metadata = appendMetadata(e.metadata, kind, family, help, unit)
	}
}
