package derived

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A ConfigError is a mistake in a file of definitions. Its text is that of the C library and has
// several lines.
type ConfigError struct {
	Path    string
	Line    int
	Warning bool // the definition is used nevertheless
	Message string
}

func (e *ConfigError) Error() string {
	kind := "Error"
	if e.Warning {
		kind = "Warning"
	}
	return fmt.Sprintf("[%s:%d] %s: %s", e.Path, e.Line, kind, e.Message)
}

// maxConfig is the greatest size of a file of definitions.
const maxConfig = 16 << 20

// Load reads definitions from a file, or from all files below a directory. n is the number of
// defined metrics. Load continues after a mistake: err joins *ConfigErrors, and errors of files
// that cannot be read.
func (s *Set) Load(path string) (n int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	l := &loader{set: s}
	if !info.IsDir() {
		return l.file(path, info.Size())
	}
	return l.dir(path, maxDirs)
}

// A loader is one call of Load.
type loader struct {
	set *Set
	buf [8 << 10]byte // what a file is read through
}

// maxDirs is how deep directories may be below each other.
const maxDirs = 100

// dir reads all files of a directory, in the order of the directory as the C library does: the
// numbers of metrics depend on it.
func (l *loader) dir(path string, depth int) (n int, err error) {
	d, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	errs := []error{err}
	for _, name := range names {
		p := filepath.Join(path, name)
		var more int
		info, err := os.Stat(p)
		switch {
		case err != nil:
		case info.IsDir() && depth > 0:
			more, err = l.dir(p, depth-1)
		case info.Mode().IsRegular(): // a FIFO would be waited for
			more, err = l.file(p, info.Size())
		}
		errs = append(errs, err)
		n += more
	}
	return n, errors.Join(errs...)
}

// file reads a file of a size that may have changed.
func (l *loader) file(path string, size int64) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(min(size, maxConfig)))
	_, err = io.CopyBuffer(&b, io.LimitReader(f, maxConfig+1), l.buf[:])
	if err == nil && b.Len() > maxConfig {
		err = &ConfigError{Path: path, Line: 1, Message: fmt.Sprintf("more than %d bytes", maxConfig)}
	}
	if err != nil {
		return 0, err
	}
	c := config{set: l.set, path: path, text: b.String()}
	for c.text != "" {
		c.definition()
	}
	return c.n, errors.Join(c.errs...)
}

// A config is a file that is being read.
type config struct {
	set  *Set
	path string
	text string // what is left
	line int    // of the line that was read last
	n    int
	errs []error
}

func (c *config) fail(format string, args ...any) { c.report(false, fmt.Sprintf(format, args...)) }

// maxReports is how many errors of a file are kept.
const maxReports = 1000

func (c *config) report(warning bool, message string) {
	if len(c.errs) < maxReports {
		c.errs = append(c.errs, &ConfigError{c.path, c.line, warning, message})
	}
}

// next reads a line without its end.
func (c *config) next() string {
	line, rest, _ := strings.Cut(c.text, "\n")
	c.text = rest
	c.line++
	return line
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func trimLeft(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}

func trimRight(s string) string {
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// definition reads one definition.
func (c *config) definition() {
	line := c.next()
	text := trimLeft(line)
	if text == "" {
		return
	}
	if text[0] == '#' {
		c.control(text)
		return
	}
	left, right, ok := strings.Cut(text, "=")
	name, attribute, isAttribute := strings.Cut(left, "(")
	name = trimRight(name)
	switch {
	case !ok:
		c.fail("pmLoadDerivedConfig: missing ``='' after derived metric name\n%s", line)
	case name == "":
		c.fail("pmLoadDerivedConfig: derived metric name missing\n%s", line)
	case !isName(name):
		c.fail("pmLoadDerivedConfig: illegal derived metric name (%s)", name)
	case isAttribute:
		c.attribute(name, line, attribute, trimLeft(right))
	case trimLeft(right) == "":
		c.fail("pmLoadDerivedConfig: expression missing\n%s", line)
	default:
		c.define(name, c.continued(right))
	}
}

// continued is an expression with the lines that it goes on in: those after a backslash at the end.
func (c *config) continued(expr string) string {
	for strings.HasSuffix(expr, "\\") && c.text != "" {
		expr = expr[:len(expr)-1] + " " + c.next()
	}
	return expr
}

// control reads a comment, which may set options.
func (c *config) control(text string) {
	options, ok := strings.CutPrefix(text, "#control")
	if !ok || options == "" || !isBlank(options[0]) || !strings.Contains(options, "=") {
		return
	}
	if err := c.set.Control(options, false); err != nil {
		c.report(true, "pmLoadDerivedConfig: "+err.Error())
	}
}

// define defines a metric.
func (c *config) define(name, expr string) {
	err := c.set.Add(name, expr)
	e, ok := errors.AsType[*AddError](err)
	if !ok {
		c.n++
		return
	}
	caret := strings.Repeat(" ", max(e.Offset, 0)) + "^"
	c.fail("pmRegisterDerived(%s, ...) syntax error\n%s\n%-*s%s", name, expr, len(expr), caret, lineOf(e.Message))
}

// lineOf returns a message as a separate line, or an empty string for an empty message.
func lineOf(message string) string {
	if message == "" {
		return ""
	}
	return "\n" + message
}

// attribute reads a help text of a metric, whose kind is between parentheses.
func (c *config) attribute(name, line, key, value string) {
	key, _, closed := strings.Cut(key, ")")
	key = trimLeft(trimRight(key))
	switch {
	case !closed:
		c.fail("pmLoadDerivedConfig: missing ')' after attribute\n%s", line)
		return
	case key == "":
		c.fail("pmLoadDerivedConfig: attribute name missing\n%s", line)
		return
	case value == "":
		c.fail("pmLoadDerivedConfig: attribute value missing\n%s", line)
		return
	case value[0] == '"' || value[0] == '\'':
		value = c.quoted(value[0], value[1:])
	}
	switch c.set.setText(name, key, value) {
	case errNotDefined:
		c.fail("pmLoadDerivedConfig: cannot set attribute, derived metric (%s) not defined\n%s", name, line)
	case errAttribute:
		c.fail("pmLoadDerivedConfig: attribute (%s) is unknown for metric (%s)\n%s", key, name, line)
	case errDuplicate:
		c.fail("pmLoadDerivedConfig: duplicate value for attribute (%s) of metric (%s)\n%s", key, name, line)
	}
}

// quoted reads a text between quotation marks, which may go on in the lines that follow. That of
// one without an end is empty. The C library counts one line less then.
func (c *config) quoted(quote byte, rest string) string {
	if n := strings.IndexByte(rest, quote); n >= 0 && strings.IndexByte(rest[:n], '\\') < 0 {
		c.afterQuote(rest[n+1:])
		return rest[:n]
	}
	var b strings.Builder
	b.Grow(len(rest) + 1 + max(0, strings.IndexByte(c.text, quote))) // more only if a quotation mark is not the end
	uncounted := 1
	nextLine := func() {
		rest = c.next()
		c.line -= uncounted
		uncounted = 0
	}
	for {
		special := strings.IndexByte(rest, quote)
		if special < 0 {
			special = len(rest)
		}
		if n := strings.IndexByte(rest[:special], '\\'); n >= 0 {
			special = n
		}
		b.WriteString(rest[:special])
		switch rest = rest[special:]; {
		case rest == "" && c.text == "":
			c.fail("pmLoadDerivedConfig: missing termination (%c) for value", quote)
			return ""
		case rest == "":
			b.WriteByte('\n')
			nextLine()
		case rest[0] == quote:
			c.afterQuote(rest[1:])
			return b.String()
		case len(rest) > 1: // the byte after a backslash
			b.WriteByte(rest[1])
			rest = rest[2:]
		case c.text != "": // the end of the line is not meant
			nextLine()
		default:
			rest = ""
		}
	}
}

// afterQuote warns of a text after a quoted one.
func (c *config) afterQuote(rest string) {
	if extra := trimLeft(trimRight(rest)); extra != "" {
		c.report(true, "pmLoadDerivedConfig: extra text ("+extra+") after attribute value will be ignored")
	}
}
