package webapi

import (
	"errors"
	"regexp"
	"strings"

	"github.com/pcp-go/pcp/internal/pattern"
)

// A matcher reports whether a request selects a name.
type matcher func(name string) bool

// checkMatch returns an error if the parameter match has an unknown value.
func (q *query) checkMatch() error {
	_, err := q.matcher("", "exact")
	return err
}

// matcher returns a matcher for a list of names. The parameter match, or how without it, says how
// to compare: "exact", "glob", or "regex", which matches a part of the name.
func (q *query) matcher(list, how string) (matcher, error) {
	if match, ok := q.params.get("match"); ok {
		how = match
	}
	var all []matcher
	names := strings.Split(list, ",")
	switch how {
	case "exact":
		set := make(map[string]bool, len(names))
		for _, name := range names {
			set[name] = true
		}
		return func(name string) bool { return set[name] }, nil
	case "glob", "regex":
		if len(list) > maxPattern {
			return nil, badRequest("pattern too long")
		}
	default:
		return nil, badRequest(how + " - invalid 'match' parameter value")
	}
	for _, name := range names {
		re, err := compile(how, name)
		switch {
		case err == nil:
		case err == errLargePattern:
			return nil, err
		case how == "glob":
			continue // an invalid pattern such as [z-a] matches nothing
		default:
			return nil, badRequest(name + " - invalid regular expression")
		}
		all = append(all, re.MatchString)
	}
	return func(name string) bool {
		for _, matches := range all {
			if matches(name) {
				return true
			}
		}
		return false
	}, nil
}

// compile compiles a pattern. A regular expression may contain \w and \b, as in the C library.
func compile(how, text string) (*regexp.Regexp, error) {
	if how == "glob" {
		text = `(?s)\A(?:` + globExpr(text) + `)\z`
	}
	re, err := pattern.Compile(text)
	if errors.Is(err, pattern.ErrTooLarge) {
		return nil, errLargePattern
	}
	return re, err
}

var errLargePattern = badRequest("pattern too long: its repetitions stand for too much")

// globExpr returns a regular expression for a pattern of fnmatch(3) without flags, where "*"
// matches slashes too.
func globExpr(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case '[':
			set, n := bracketExpr(pattern[i:])
			b.WriteString(set)
			i += n - 1
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return b.String()
}

// bracketExpr returns a regular expression for the bracket at the start of a pattern, and the
// length of the bracket. An unclosed bracket stands for itself.
func bracketExpr(pattern string) (expr string, n int) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	start := i
	var b strings.Builder
	for ; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == ']' && i > start:
			if negated {
				return "[^" + b.String() + "]", i + 1
			}
			return "[" + b.String() + "]", i + 1
		case c == '[' && strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i:], ":]"); end > 0 {
				b.WriteString(pattern[i : i+end+2])
				i += end + 1
				continue
			}
			b.WriteString(`\[`)
		case c == '\\' && i+1 < len(pattern):
			i++
			writeQuoted(&b, pattern[i])
		case c == '-' && i > start && i+1 < len(pattern) && pattern[i+1] != ']':
			b.WriteByte('-')
		default:
			writeQuoted(&b, c)
		}
	}
	return `\[`, 1
}

// writeQuoted writes a byte that stands for itself in a bracket.
func writeQuoted(b *strings.Builder, c byte) {
	if strings.IndexByte(`\[]^-`, c) >= 0 {
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}
