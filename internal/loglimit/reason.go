package loglimit

import (
	"hash/maphash"
	"log/slog"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A hashing makes hashes of reasons that a peer cannot foresee.
type hashing struct{ seed maphash.Seed }

func newHashing() hashing { return hashing{maphash.MakeSeed()} }

// hash is that of the reason of a record.
func (s hashing) hash(h *handler, r *slog.Record) uint64 {
	sum := s.start(r)
	sum.WriteString(h.with)
	r.Attrs(func(a slog.Attr) bool {
		text, part := reasonText(a)
		if part == notOfReason {
			return true
		}
		sum.WriteByte(0)
		sum.WriteString(a.Key)
		sum.WriteByte('=')
		text = text[:min(len(text), maxText)]
		if part == asGiven {
			sum.WriteString(text)
		} else {
			writeGeneral(&sum, text)
		}
		return true
	})
	return sum.Sum64()
}

// hashMessage hashes a record without its attributes.
func (s hashing) hashMessage(r *slog.Record) uint64 {
	sum := s.start(r)
	return sum.Sum64()
}

func (s hashing) start(r *slog.Record) (sum maphash.Hash) {
	sum.SetSeed(s.seed)
	sum.WriteByte(byte(r.Level))
	writeGeneral(&sum, r.Message[:min(len(r.Message), maxText)])
	return sum
}

// Which part of the value of an attribute belongs to the reason.
const (
	notOfReason = iota // none, as of an address
	asGiven            // all, as of a name
	inGeneral          // what writeGeneral writes
)

// A Text does not belong to the reason, because a peer chooses it freely. Log it with slog.Any.
type Text string

// reasonText is what an attribute tells of the reason: a text such as the name of an
// agent, or an error. Numbers, addresses and stacks tell lines of one reason apart.
func reasonText(a slog.Attr) (text string, part int) {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		text, part = v.String(), asGiven
	case slog.KindAny:
		switch v := v.Any().(type) {
		case error:
			text, part = v.Error(), inGeneral
		}
	}
	switch {
	case part == notOfReason || a.Key == "stack":
		return "", notOfReason
	case a.Key == "err" || a.Key == "panic":
		part = inGeneral
	}
	return text, part
}

// writeGeneral writes a text without what a peer may choose freely in an error: "#"
// stands for each word with a digit, such as 0x7abc or a port, and for what is quoted.
func writeGeneral(sum *maphash.Hash, text string) {
	for text != "" {
		if text[0] == '"' {
			sum.WriteByte('#')
			_, after, closed := strings.Cut(text[1:], `"`)
			if !closed {
				return
			}
			text = after
			continue
		}
		n, digit := wordLen(text)
		switch {
		case n == 0:
			n = 1
			sum.WriteByte(text[0])
		case digit:
			sum.WriteByte('#')
		default:
			sum.WriteString(text[:n])
		}
		text = text[n:]
	}
}

// wordLen is the length of the letters and digits that a text begins with, and whether
// there is a digit.
func wordLen(text string) (n int, digit bool) {
	for n < len(text) {
		switch c := text[n]; {
		case scan.IsDigit(c):
			digit = true
		case scan.IsLetter(c), c == '_', c >= 0x80:
		default:
			return n, digit
		}
		n++
	}
	return n, digit
}
