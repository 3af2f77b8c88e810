// Package pmcpp is the preprocessor of PCP's configuration files and name spaces, pmcpp(1):
// included files, macros, conditions and comments.
package pmcpp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// Limits of our own, far above any real file, so that a hostile or endless one cannot use all
// memory or time.
const (
	maxSourceLine = 1 << 20  // bytes of a line before preprocessing
	maxSource     = 16 << 20 // bytes of a file with all that it includes
	maxIncludes   = 4096     // files included, at any depth
)

// maxIncludeDepth is how many files may be open at once, the main file among them, as in pmcpp.
const maxIncludeDepth = 5

// A Config says how text is preprocessed.
type Config struct {
	// Open opens an included file, by its name with slashes.
	Open func(name string) (io.ReadCloser, error)
	// Dirs are searched for an included file that cannot be opened under the name as written, nor
	// in the directory of the main file. An absolute name is not searched.
	Dirs []string
	// Defines are macros that exist before the first line: option -D.
	Defines map[string]string
	// Shell makes % the prefix of control lines instead of #, as option -s does; # then begins
	// comments. Comments, also those of C, stay in the text.
	Shell bool
	// Restrict expands a macro only where its name follows the prefix, perhaps in braces: option
	// -r.
	Restrict bool
	// MaxLine is how long a line may be after preprocessing; 0 for any length.
	MaxLine int
}

// A Reader turns a file and those it includes into lines without directives, comments and macros,
// each with the place it comes from.
type Reader struct {
	config   Config
	prefix   string
	files    []*source // the main file first, the innermost include last
	macros   map[string]string
	cond     conditional
	comment  *Line // the start of the comment that is open, or nil
	read     int   // bytes of all files so far
	end      Line  // behind the last line of the main file
	includes int
}

// A source is one open file.
type source struct {
	name   string
	r      *bufio.Reader
	closer io.Closer // nil for the main file, which belongs to the caller
	line   int       // lines read
	at     Line      // of the last line read, by line markers
}

// A Line is a line of a file.
type Line struct {
	File   string
	Number int
	Text   string
	Indent int // bytes of white space before Text
}

// An Error is an error of a whole line.
type Error struct {
	Line // as it is written
	Msg  string
}

// Error returns the place and the problem.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Number, e.Msg) }

// A ReadError is the failure to read a file.
type ReadError struct {
	File string
	Line int
	Err  error
}

// Error is the place and the cause.
func (e *ReadError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// A conditional is the one #ifdef or #ifndef that may be open.
type conditional struct {
	open   bool
	skip   bool // lines up to the next #else or #endif are skipped
	turned bool // #else was seen
	at     Line
}

// NewReader preprocesses a text. The name stands in errors, and its directory is searched for
// included files.
func (c Config) NewReader(name string, r io.Reader) *Reader {
	p := &Reader{config: c, prefix: "#", macros: maps.Clone(c.Defines)}
	if c.Shell {
		p.prefix = "%"
	}
	if p.macros == nil {
		p.macros = make(map[string]string)
	}
	p.push(name, r, nil)
	return p
}

func (p *Reader) push(name string, r io.Reader, c io.Closer) {
	p.files = append(p.files, &source{name: name, r: bufio.NewReader(r), closer: c, at: Line{File: name}})
}

// pop ends the innermost file. The including file goes on under its real name and line numbers:
// earlier linemarkers in it no longer apply.
func (p *Reader) pop() {
	last := len(p.files) - 1
	if c := p.files[last].closer; c != nil {
		c.Close() // it was only read
	}
	p.end = p.files[last].at
	p.files = p.files[:last]
	if last > 0 {
		s := p.files[last-1]
		s.at = Line{File: s.name, Number: s.line}
	}
}

// End is the place of the end of the main file, once Next has returned io.EOF.
func (p *Reader) End() Line { return p.end }

// Close closes the files that are included.
func (p *Reader) Close() {
	for len(p.files) > 0 {
		p.pop()
	}
}

// Next returns the next line that is not blank, or io.EOF. All other errors, which are of type
// *Error or *ReadError, are final. The text has no white space at its start.
func (p *Reader) Next() (Line, error) {
	for len(p.files) > 0 {
		s := p.files[len(p.files)-1]
		raw, err := p.readLine(s)
		if err == io.EOF {
			p.pop()
			continue
		}
		if err != nil {
			return Line{}, err
		}
		// As in pmcpp, errors of preprocessing have the position in the file and ignore line
		// markers.
		here := Line{File: s.name, Number: s.line, Text: raw}
		text := p.stripComments(raw, here)
		if strings.HasPrefix(text, p.prefix) {
			if done, err := p.directive(text, here); done || err != nil {
				if err != nil {
					return Line{}, err
				}
				continue
			}
		}
		if p.cond.skip {
			continue
		}
		text = p.expand(text)
		if p.config.MaxLine > 0 && len(text) > p.config.MaxLine {
			at := s.at
			at.Text = text[:40] + "..."
			return Line{}, at.fault("Absurdly long line, cannot recover")
		}
		trimmed := strings.TrimLeft(text, " \t\v\f\r")
		switch {
		case strings.HasPrefix(trimmed, "#"):
			if err := s.linemarker(trimmed, here); err != nil && !p.config.Shell {
				return Line{}, err
			}
		case trimmed != "":
			return Line{File: s.at.File, Number: s.at.Number, Text: trimmed, Indent: len(text) - len(trimmed)}, nil
		}
	}
	if p.comment != nil {
		return Line{}, p.comment.fault("Comment at line " + strconv.Itoa(p.comment.Number) + " not terminated before end of file")
	}
	if p.cond.open {
		return Line{}, p.cond.at.fault(fmt.Sprintf("End of input and no matching %[1]sendif for %[1]sifdef or %[1]sifndef at line %[2]d", p.prefix, p.cond.at.Number))
	}
	return Line{}, io.EOF
}

// readLine returns a line without its newline. The last line may lack one; pmcpp then drops the
// line, which is an error of pmcpp.
func (p *Reader) readLine(s *source) (string, error) {
	s.line++
	s.at.Number++
	here := Line{File: s.name, Number: s.line}
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
			return "", &ReadError{File: s.name, Line: s.line, Err: err}
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
func (p *Reader) stripComments(s string, here Line) string {
	if p.config.Shell || p.comment == nil && !strings.Contains(s, "/*") {
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

// BadLineMarker is the Msg of the Error about a line that begins with # and is neither a directive
// nor a line marker. PCP words it differently from other errors of the preprocessor.
const BadLineMarker = "Illegal line number control number"

// linemarker executes a line like `# 12 "file"`: the next line is line 12 of that
// file in errors.
func (s *source) linemarker(text string, here Line) error {
	rest := strings.TrimLeft(text[1:], " \t")
	digits := 0
	for digits < len(rest) && scan.IsDigit(rest[digits]) {
		digits++
	}
	n, err := strconv.ParseInt(rest[:digits], 10, 32)
	name, quoted := strings.CutPrefix(strings.TrimLeft(rest[digits:], " \t"), `"`)
	name, _, closed := strings.Cut(name, `"`)
	if err != nil || !quoted || !closed {
		here.Text = text
		return here.fault(BadLineMarker)
	}
	s.at = Line{File: name, Number: int(n) - 1}
	return nil
}

// fault is the error of a line as a whole.
func (at Line) fault(msg string) error { return &Error{Line: at, Msg: msg} }

// openInclude tries the possible places of an included file. It returns the name of the file that
// it opened.
func (p *Reader) openInclude(name string) (string, io.ReadCloser, error) {
	f, err := p.config.Open(name)
	if err == nil || filepath.IsAbs(name) || path.IsAbs(name) {
		return name, f, err
	}
	dirs := append([]string{path.Dir(filepath.ToSlash(p.files[0].name))}, p.config.Dirs...)
	for _, dir := range dirs {
		full := path.Join(dir, name)
		if f, err := p.config.Open(full); err == nil {
			return full, f, nil
		}
	}
	return "", nil, err
}
