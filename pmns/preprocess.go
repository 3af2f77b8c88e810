package pmns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
)

// A preprocessor turns a file and those it includes into lines without
// directives, comments and macros, each with the place it comes from.
type preprocessor struct {
	loader   *Loader
	files    []*source // the main file first, the innermost include last
	macros   map[string]string
	cond     conditional
	comment  *place // the start of the comment that is open, or nil
	read     int    // bytes of all files so far
	includes int
}

// A source is one open file.
type source struct {
	name   string
	r      *bufio.Reader
	closer io.Closer // nil for the main file, which belongs to the caller
	line   int       // lines read
	at     place     // of the last line read, by line markers
}

// A place is a line of a file with its text.
type place struct {
	file string
	line int
	text string
}

// A conditional is the one #ifdef or #ifndef that may be open.
type conditional struct {
	open   bool
	skip   bool // lines up to the next #else or #endif are skipped
	turned bool // #else was seen
	at     place
}

func newPreprocessor(l *Loader, name string, r io.Reader) *preprocessor {
	p := &preprocessor{loader: l, macros: maps.Clone(l.Defines)}
	if p.macros == nil {
		p.macros = make(map[string]string)
	}
	p.push(name, r, nil)
	return p
}

func (p *preprocessor) push(name string, r io.Reader, c io.Closer) {
	p.files = append(p.files, &source{name: name, r: bufio.NewReader(r), closer: c, at: place{file: name}})
}

// pop ends the innermost file. The including one goes on under its own name
// and line numbers, whatever its linemarkers said.
func (p *preprocessor) pop() {
	last := len(p.files) - 1
	if c := p.files[last].closer; c != nil {
		c.Close() // it was only read
	}
	p.files = p.files[:last]
	if last > 0 {
		s := p.files[last-1]
		s.at = place{file: s.name, line: s.line}
	}
}

func (p *preprocessor) close() {
	for len(p.files) > 0 {
		p.pop()
	}
}

// next returns the next line that is not blank, or io.EOF. All other errors are
// final.
func (p *preprocessor) next() (place, error) {
	for len(p.files) > 0 {
		s := p.files[len(p.files)-1]
		raw, err := p.readLine(s)
		if err == io.EOF {
			p.pop()
			continue
		}
		if err != nil {
			return place{}, err
		}
		// Errors of preprocessing have the position in the file, as in pmcpp, whatever
		// line markers say.
		here := place{file: s.name, line: s.line, text: raw}
		text := p.stripComments(raw, here)
		if strings.HasPrefix(text, "#") {
			if done, err := p.directive(text, here); done || err != nil {
				if err != nil {
					return place{}, err
				}
				continue
			}
		}
		if p.cond.skip {
			continue
		}
		text = expand(text, p.macros)
		if len(text) > maxLine {
			at := s.at
			at.text = text[:40] + "..."
			return place{}, at.fault("Absurdly long line, cannot recover")
		}
		trimmed := strings.TrimLeft(text, " \t\v\f\r")
		switch {
		case strings.HasPrefix(trimmed, "#"):
			if err := s.linemarker(trimmed, here); err != nil {
				return place{}, err
			}
		case trimmed != "":
			return place{file: s.at.file, line: s.at.line, text: trimmed}, nil
		}
	}
	if p.comment != nil {
		return place{}, p.comment.fault("Comment at line " + strconv.Itoa(p.comment.line) + " not terminated before end of file")
	}
	if p.cond.open {
		return place{}, p.cond.at.fault("End of input and no matching #endif for #ifdef or #ifndef at line " + strconv.Itoa(p.cond.at.line))
	}
	return place{}, io.EOF
}

// readLine returns a line without its newline. The last line may have none; pmcpp
// drops it then, which is an error of pmcpp.
func (p *preprocessor) readLine(s *source) (string, error) {
	s.line++
	s.at.line++
	here := place{file: s.name, line: s.line}
	var long []byte
	for {
		part, err := s.r.ReadSlice('\n')
		p.read += len(part)
		switch {
		case p.read > maxSource:
			return "", here.fault(fmt.Sprintf("More than %d bytes of input with all included files", maxSource))
		case len(long)+len(part) > maxSourceLine:
			return "", here.fault("Absurdly long line, cannot recover")
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case err != nil && err != io.EOF:
			return "", &OpError{Op: "read", Name: s.name, Err: fmt.Errorf("line %d: %w", s.line, err)}
		case err == io.EOF && len(long)+len(part) == 0:
			return "", io.EOF
		}
		if n := len(part); n > 0 && part[n-1] == '\n' {
			part = part[:n-1]
		}
		if long != nil {
			part = append(long, part...)
		}
		return string(part), nil
	}
}

// stripComments replaces comments by blanks. If there were any it drops blanks at
// the end of the line, which would count for the length limit.
func (p *preprocessor) stripComments(s string, here place) string {
	if p.comment == nil && !strings.Contains(s, "/*") {
		return s
	}
	b := []byte(s)
	for i := 0; i < len(b); {
		end := len(b)
		if p.comment == nil {
			start := strings.Index(s[i:], "/*")
			if start < 0 {
				break
			}
			i += start
			p.comment = &here
			b[i], b[i+1] = ' ', ' '
			i += 2
		}
		if n := strings.Index(s[i:], "*/"); n >= 0 {
			end = i + n + 2
			p.comment = nil
		}
		for ; i < end; i++ {
			b[i] = ' '
		}
	}
	return strings.TrimRight(string(b), " \t\v\f\r")
}

// linemarker executes a line like `# 12 "file"`: the next line is line 12 of that
// file in errors.
func (s *source) linemarker(text string, here place) error {
	rest := strings.TrimLeft(text[1:], " \t")
	digits := 0
	for digits < len(rest) && isDigit(rest[digits]) {
		digits++
	}
	n, err := strconv.ParseInt(rest[:digits], 10, 32)
	name, quoted := strings.CutPrefix(strings.TrimLeft(rest[digits:], " \t"), `"`)
	name, _, closed := strings.Cut(name, `"`)
	if err != nil || !quoted || !closed {
		here.text = text
		return here.fault("Illegal line number control number")
	}
	s.at = place{file: name, line: int(n) - 1}
	return nil
}

// fault is the error of a line as a whole.
func (at place) fault(msg string) error {
	return &ParseError{File: at.file, Line: at.line, Text: at.text, Msg: msg}
}
