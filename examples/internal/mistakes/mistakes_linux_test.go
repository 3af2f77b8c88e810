package mistakes_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/mistakes"
	"github.com/pcp-go/pcp/examples/internal/pmlogger"
	"github.com/pcp-go/pcp/examples/internal/pmval"
)

func TestPmval(t *testing.T) {
	mistakes.Test(t, "pmval", func(args []string) int {
		defer func(all []string) { os.Args = all }(os.Args)
		os.Args = append([]string{"pmval"}, args...)
		return pmval.Main("pmval")
	})
}

func TestPmlogger(t *testing.T) {
	mistakes.Test(t, "pmlogger", func(args []string) int { return pmlogger.Main(append([]string{"pmlogger"}, args...)) })
}

func TestHTTP(t *testing.T) {
	mistakes.Test(t, "curl", func(args []string) int {
		r, err := http.Get(args[0])
		if err != nil {
			t.Error(err)
			return 1
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		fmt.Fprintln(os.Stderr, string(text), err)
		return 0
	})
}
