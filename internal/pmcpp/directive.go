package pmcpp

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// directive executes a control line. done is false for a line that starts with the
// prefix but is not a control line.
//
// Keywords match by prefix, as in pmcpp: "#defineX 2" defines X.
func (p *Reader) directive(text string, here Line) (done bool, err error) {
	for _, d := range [...]struct {
		keyword string
		do      func(*Reader, string, Line) error
	}{
		{"define", (*Reader).define},
		{"undef", (*Reader).undef},
		{"ifdef", func(p *Reader, arg string, here Line) error { return p.ifdef(arg, here, true) }},
		{"ifndef", func(p *Reader, arg string, here Line) error { return p.ifdef(arg, here, false) }},
		{"else", (*Reader).invert},
		{"endif", (*Reader).endif},
		{"include", (*Reader).include},
		{"shell", (*Reader).shell},
	} {
		if arg, ok := strings.CutPrefix(text[len(p.prefix):], d.keyword); ok {
			return true, d.do(p, trim(arg), here)
		}
	}
	return false, nil
}

const extraText = "Unexpected extra text in a control line"

func (p *Reader) define(arg string, here Line) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	value := arg
	switch {
	case arg == "":
	case arg[0] == '"' || arg[0] == '\'':
		var ok bool
		if value, arg, ok = strings.Cut(arg[1:], arg[:1]); !ok {
			return p.fault(here, "Unterminated value string in #define")
		}
		if arg != "" {
			return here.fault(extraText)
		}
	case strings.ContainsFunc(arg, isBlank):
		return here.fault(extraText)
	}
	if p.cond.skip {
		return nil
	}
	if _, ok := p.macros[name]; ok {
		return here.fault("Macro redefinition")
	}
	p.macros[name] = value
	return nil
}

func (p *Reader) undef(arg string, here Line) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.skip {
		delete(p.macros, name)
	}
	return nil
}

func (p *Reader) ifdef(arg string, here Line, want bool) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	if arg != "" {
		return here.fault(extraText)
	}
	if p.cond.open {
		return p.fault(here, "Nested #ifdef or #ifndef")
	}
	_, defined := p.macros[name]
	p.cond = conditional{open: true, skip: defined != want, at: here}
	return nil
}

// invert executes #else: it inverts the condition, once. pmcpp accepts a second
// #else or refuses it with an unrelated message, depending on the condition.
func (p *Reader) invert(arg string, here Line) error {
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.open || p.cond.turned {
		return p.fault(here, "No matching #ifdef or #ifndef for #else")
	}
	p.cond.skip, p.cond.turned = !p.cond.skip, true
	return nil
}

func (p *Reader) endif(arg string, here Line) error {
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.open {
		return p.fault(here, "No matching #ifdef or #ifndef for #endif")
	}
	p.cond = conditional{}
	return nil
}

func (p *Reader) include(arg string, here Line) error {
	if p.cond.skip {
		return nil
	}
	quote := `"`
	switch {
	case strings.HasPrefix(arg, `"`):
	case strings.HasPrefix(arg, "<"):
		quote = ">"
	default:
		return p.fault(here, `Expected " or < after #include`)
	}
	name, rest, ok := strings.Cut(arg[1:], quote)
	if !ok {
		return here.fault("Expected " + quote + " after file name")
	}
	if rest != "" {
		return p.fault(here, "Unexpected extra text in #include line")
	}
	if len(p.files) >= maxIncludeDepth {
		return p.fault(here, "#include and/or #shell nesting too deep")
	}
	if p.includes++; p.includes > maxIncludes {
		return p.fault(here, fmt.Sprintf("More than %d #include lines", maxIncludes))
	}
	name, f, err := p.openInclude(name)
	if err != nil {
		return p.fault(here, "Cannot open file for #include")
	}
	p.push(name, f, f)
	return nil
}

// shell refuses #shell, which runs a command in pmcpp. With it, the author of a name space file
// could run commands as the user of the program.
func (p *Reader) shell(_ string, here Line) error {
	if p.cond.skip {
		return nil
	}
	return p.fault(here, "#shell is not supported: run the command beforehand and #include its output")
}

// macroName splits the name of a macro off the argument of a directive.
func macroName(arg string, here Line) (name, rest string, err error) {
	name, rest = arg, ""
	if i := strings.IndexFunc(arg, isBlank); i >= 0 {
		name, rest = arg[:i], trim(arg[i:])
	}
	if name == "" {
		return "", "", here.fault("Missing macro name")
	}
	for i := range len(name) {
		if !isWord(name[i]) || i == 0 && scan.IsDigit(name[i]) {
			return "", "", here.fault("Illegal character in macro name")
		}
	}
	return name, rest, nil
}

// fault is an error that speaks of control lines, which have another prefix with Shell.
func (p *Reader) fault(here Line, msg string) error {
	return here.fault(strings.ReplaceAll(msg, "#", p.prefix))
}

// expand replaces the words of s that are macros, with Restrict only those behind the prefix.
// Macros in the replacement are not expanded, so that the result is bounded. A result that is too
// long for a line is truncated; it is an error anyway.
func (p *Reader) expand(s string) string {
	if len(p.macros) == 0 {
		return s
	}
	most := maxSource
	if p.config.MaxLine > 0 {
		most = p.config.MaxLine
	}
	var out []byte
	done := 0 // s[:done] is in out
	for i := 0; i < len(s) && len(out) <= most; {
		start, word, end := p.word(s, i)
		if value, ok := p.macros[word]; ok && word != "" {
			out = append(append(out, s[done:start]...), value...)
			done = end
		}
		i = end
	}
	if done == 0 {
		return s
	}
	return string(append(out, s[done:]...))
}

// word returns the next word from i on that may be a macro, or "" if no such word comes before end.
// The value of the macro replaces s[start:end].
func (p *Reader) word(s string, i int) (start int, word string, end int) {
	start = i
	braces := false
	if p.config.Restrict {
		if s[i] != p.prefix[0] {
			return start, "", i + 1
		}
		if i++; i < len(s) && s[i] == '{' {
			braces = true
			i++
		}
	}
	if i == len(s) || !isWord(s[i]) || scan.IsDigit(s[i]) {
		return start, "", start + 1
	}
	end = i
	for end < len(s) && isWord(s[end]) {
		end++
	}
	word = s[i:end]
	if braces {
		if end == len(s) || s[end] != '}' {
			return start, "", end
		}
		end++
	}
	return start, word, end
}

func trim(s string) string { return strings.Trim(s, " \t\v\f\r") }
func isBlank(r rune) bool  { return r < 128 && scan.IsSpace(byte(r)) }
func isWord(c byte) bool   { return scan.IsLetter(c) || scan.IsDigit(c) || c == '_' }
