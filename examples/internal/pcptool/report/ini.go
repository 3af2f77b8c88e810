package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A file of configuration is an INI file as Python's ConfigParser reads it, with case sensitive
// keys and basic interpolation.

const (
	maxConfigFile    = 4 << 20  // bytes of a file of configuration
	maxInterpolation = 10       // levels of values in values, as ConfigParser has it
	maxValue         = 1 << 20  // bytes of a value after interpolation
	maxValues        = 16 << 20 // bytes of all values of a section
	maxReferences    = 1 << 10  // values that are put into one, also into those within it
	maxAllReferences = 1 << 20  // the same for all values of a section
)

const defaultSection = "DEFAULT"

// An iniSection is a section of a file: entries in their order.
type iniSection struct {
	name   string
	keys   []string
	values map[string]*iniValue
}

// An iniValue is the value of an entry before interpolation.
type iniValue struct {
	lines []string
	text  string // of the lines, once there are no more
}

func newSection(name string) *iniSection {
	return &iniSection{name: name, values: map[string]*iniValue{}}
}

// finish makes the texts of the values.
func (s *iniSection) finish() {
	for _, v := range s.values {
		v.text = strings.TrimRightFunc(strings.Join(v.lines, "\n"), isBlank)
	}
}

// An entry is a key with its value.
type entry struct{ key, value string }

// An iniFile is what a file says.
type iniFile struct {
	name     string
	sections []*iniSection
	byName   map[string]*iniSection
	defaults *iniSection
}

// section returns the section with a name, or nil.
func (f *iniFile) section(name string) *iniSection { return f.byName[name] }

// An iniParser is in the middle of a file.
type iniParser struct {
	file    *iniFile
	line    int
	text    string // of the line, with its newline
	current *iniSection
	key     string
	hasKey  bool
	indent  int
	bad     []string // lines that are nothing, for the error
	badLine int      // the first of them
}

// parseINI parses a file.
func parseINI(name string, data []byte) (*iniFile, error) {
	if len(data) > maxConfigFile {
		return nil, fmt.Errorf("Failed to read configuration file '%s':\nThe file is longer than %d bytes.", name, maxConfigFile)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("Failed to read configuration file '%s':\nThe file is not UTF-8.", name)
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	p := &iniParser{file: &iniFile{name: name, byName: map[string]*iniSection{}, defaults: newSection(defaultSection)}}
	for line := range strings.Lines(string(data)) {
		p.line++
		p.text = line
		if err := p.parseLine(); err != nil {
			return nil, err
		}
	}
	if len(p.bad) > 0 {
		return nil, p.errorAt(p.badLine, "Source contains parsing errors: '"+name+"'\n"+strings.Join(p.bad, "\n"))
	}
	for _, s := range append(p.file.sections, p.file.defaults) {
		s.finish()
	}
	return p.file, nil
}

func (p *iniParser) errorAt(line int, detail string) error {
	return fmt.Errorf("Failed to read configuration file '%s', line %d:\n%s", p.file.name, line, detail)
}

// parseLine parses a line: a comment, an empty one, the continuation of a value, the head of a
// section, or an entry.
func (p *iniParser) parseLine() error {
	text := trimBlanks(p.text)
	if text == "" {
		if p.hasKey {
			p.add("")
		}
		return nil
	}
	if text[0] == '#' || text[0] == ';' {
		return nil
	}
	indent := len(p.text) - len(strings.TrimLeftFunc(p.text, isBlank))
	if p.hasKey && indent > p.indent {
		p.add(text)
		return nil
	}
	p.indent = indent
	if end := strings.LastIndexByte(text, ']'); text[0] == '[' && end > 1 {
		return p.startSection(text[1:end])
	}
	if p.current == nil {
		return p.errorAt(p.line, fmt.Sprintf("File contains no section headers.\nfile: '%s', line: %d\n%s", p.file.name, p.line, quotePython(p.text)))
	}
	at := strings.IndexAny(text, "=:")
	if at < 0 {
		p.addBad()
		return nil
	}
	if at == 0 {
		p.addBad()
	}
	return p.startEntry(trimBlanks(text[:at]), trimBlanks(text[at+1:]))
}

// add adds a line to the value of the current key.
func (p *iniParser) add(line string) {
	v := p.current.values[p.key]
	v.lines = append(v.lines, line)
}

func (p *iniParser) addBad() {
	if len(p.bad) == 0 {
		p.badLine = p.line
	}
	p.bad = append(p.bad, fmt.Sprintf("\t[line %2d]: %s", p.line, quotePython(p.text)))
}

func (p *iniParser) startSection(name string) error {
	p.hasKey = false
	if name == defaultSection {
		p.current = p.file.defaults
		return nil
	}
	if p.file.section(name) != nil {
		return p.errorAt(p.line, fmt.Sprintf("While reading from '%s' [line %2d]: section '%s' already exists", p.file.name, p.line, name))
	}
	p.current = newSection(name)
	p.file.sections = append(p.file.sections, p.current)
	p.file.byName[name] = p.current
	return nil
}

func (p *iniParser) startEntry(key, value string) error {
	if _, ok := p.current.values[key]; ok {
		return p.errorAt(p.line, fmt.Sprintf("While reading from '%s' [line %2d]: option '%s' in section '%s' already exists",
			p.file.name, p.line, key, p.current.name))
	}
	p.current.keys = append(p.current.keys, key)
	p.current.values[key] = &iniValue{lines: []string{value}}
	p.key, p.hasKey = key, true
	return nil
}

// entries are the entries of a section, those of [DEFAULT] before, with their values after
// interpolation.
func (f *iniFile) entries(s *iniSection) ([]entry, error) {
	keys := slices.Clone(f.defaults.keys)
	for _, key := range s.keys {
		if _, ok := f.defaults.values[key]; !ok {
			keys = append(keys, key)
		}
	}
	all, size, references := make([]entry, len(keys)), 0, 0
	for i, key := range keys {
		v := interpolation{file: f, section: s, key: key}
		if err := v.add(f.raw(s, key), 1); err != nil {
			return nil, fmt.Errorf("Failed to read configuration file '%s':\n%w", f.name, err)
		}
		if size += v.text.Len(); size > maxValues {
			return nil, fmt.Errorf("Failed to read configuration file '%s':\nThe values of section '%s' are longer than %d bytes.", f.name, s.name, maxValues)
		}
		if references += v.references; references > maxAllReferences {
			return nil, fmt.Errorf("Failed to read configuration file '%s':\nThe values of section '%s' have more than %d values in them.", f.name, s.name, maxAllReferences)
		}
		all[i] = entry{key, v.text.String()}
	}
	return all, nil
}

// raw is the value of a key in a section before interpolation.
func (f *iniFile) raw(s *iniSection, key string) string {
	v, ok := s.values[key]
	if !ok {
		v = f.defaults.values[key]
	}
	return v.text
}

// An interpolation is a value into which others are put.
type interpolation struct {
	file       *iniFile
	section    *iniSection
	key        string
	text       strings.Builder
	references int
}

// add adds a text with the values of the keys in it.
func (v *interpolation) add(text string, depth int) error {
	if depth > maxInterpolation || v.references > maxReferences {
		return fmt.Errorf("Recursion limit exceeded in value substitution: option '%s' in section '%s'.", v.key, v.section.name)
	}
	for text != "" {
		before, after, found := strings.Cut(text, "%")
		v.text.WriteString(before)
		switch {
		case v.text.Len() > maxValue:
			return fmt.Errorf("The value of option '%s' in section '%s' is longer than %d bytes.", v.key, v.section.name, maxValue)
		case !found:
			return nil
		case strings.HasPrefix(after, "%"):
			v.text.WriteByte('%')
			text = after[1:]
			continue
		case !strings.HasPrefix(after, "("):
			return fmt.Errorf("'%%' must be followed by '%%' or '(', found: %s", quotePython("%"+after))
		}
		name, rest, closed := strings.Cut(after[1:], ")s")
		if !closed || strings.ContainsRune(name, ')') {
			return fmt.Errorf("bad interpolation variable reference %s", quotePython("%"+after))
		}
		if err := v.addValue(name, depth); err != nil {
			return err
		}
		text = rest
	}
	return nil
}

// addValue adds the value of a key.
func (v *interpolation) addValue(name string, depth int) error {
	_, ok := v.section.values[name]
	if _, byDefault := v.file.defaults.values[name]; !ok && !byDefault {
		return fmt.Errorf("Bad value substitution: option '%s' in section '%s' contains an interpolation key '%s' which is not a valid option name.",
			v.key, v.section.name, name)
	}
	v.references++
	return v.add(v.file.raw(v.section, name), depth+1)
}

// isBlank reports whether a character is one that Python strips.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func trimBlanks(s string) string { return strings.TrimFunc(s, isBlank) }

// quotePython quotes a text as Python's repr does.
func quotePython(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= math.MaxUint8:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= math.MaxUint16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
