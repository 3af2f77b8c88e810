package recordpipe

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestControl(t *testing.T) {
	long := strings.Repeat("x", maxMessage-1)
	for _, tt := range []struct{ name, pipe, want string }{
		{"session", "V0\nFmy folio\nPtool\nR\n?\n?\nQ\n", "? ? Q [my folio tool true] EOF"},
		{"detached", "V0\nFa\nPb\nD\n", "D [a b false] EOF"},
		{"launcher dies", "V0\nFa\n", "[a <unknown> false] EOF"},
		{"nothing", "", "[<unknown> <unknown> false] EOF"},
		{"empty names", "F\nP\nQ\n", "Q [  false] EOF"},
		{"without version", "Q\n", "Q [<unknown> <unknown> false] EOF"},
		{"zeros", "V00\nQ\n", "Q [<unknown> <unknown> false] EOF"},
		{"other version", "V1\nQ\n", `[<unknown> <unknown> false] illegal recording session control message: "V1"`},
		{"no version", "V\nQ\n", `[<unknown> <unknown> false] illegal recording session control message: "V"`},
		{"blank in version", "V 0\nQ\n", `[<unknown> <unknown> false] illegal recording session control message: "V 0"`},
		{"options", "?\n?-geometry x\nQ\n", `? [<unknown> <unknown> false] illegal recording session control message: "?-geometry x"`},
		{"empty", "\nQ\n", `[<unknown> <unknown> false] illegal recording session control message: ""`},
		{"incomplete", "?\nQ", `? [<unknown> <unknown> false] incomplete recording session control message: "Q"`},
		{"longest", "F" + long + "\nQ\n", "Q [" + long + " <unknown> false] EOF"},
		{"too long", "Fx" + long + "\nQ\n", `[<unknown> <unknown> false] absurd recording session control message: "F` + long[:99] + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, controlText(Read(iotest.OneByteReader(strings.NewReader(tt.pipe))))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	broken := errors.New("broken")
	c := Read(iotest.ErrReader(broken))
	if _, err := c.Next(); !errors.Is(err, broken) {
		t.Errorf("of a broken pipe: %v", err)
	}
}

// controlText has all commands of a pipe, what is known of the session, and the error.
func controlText(c *Control) string {
	var b strings.Builder
	for {
		command, err := c.Next()
		if err != nil {
			replay := " false] "
			if c.Replay {
				replay = " true] "
			}
			return b.String() + "[" + c.Folio + " " + c.Creator + replay + err.Error()
		}
		b.WriteString(command.String() + " ")
	}
}

func FuzzControl(f *testing.F) {
	f.Add("V0\nFmy folio\nPtool\nR\n?\n?\nQ\n")
	f.Add("?\nD\nV1\n")
	f.Add(strings.Repeat("F", maxMessage+1))
	f.Fuzz(func(t *testing.T, pipe string) {
		c := Read(strings.NewReader(pipe))
		commands := 0
		for {
			command, err := c.Next()
			if err != nil {
				if _, again := c.Next(); again != err {
					t.Fatalf("%v, then %v", err, again)
				}
				if len(err.Error()) > maxMessage*4+100 {
					t.Fatalf("an error of %d bytes", len(err.Error()))
				}
				var bad *Error
				if !errors.As(err, &bad) && err != io.EOF {
					t.Fatal(err)
				}
				break
			}
			if commands++; command != Status && command != Detach && command != Stop {
				t.Fatalf("command %q", command)
			}
		}
		if commands > strings.Count(pipe, "\n") || len(c.Folio) > max(maxMessage, len(unknown)) {
			t.Fatalf("%d commands, folio of %d bytes", commands, len(c.Folio))
		}
	})
}
