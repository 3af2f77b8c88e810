package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// runRecorder runs a program that records this computer into the archive of its argument until it is interrupted.
func runRecorder(t *testing.T, src string) {
	if runtime.GOOS != "linux" {
		t.Skip("the agent is of Linux")
	}
	base := filepath.Join(t.TempDir(), "today")
	cmd := exec.Command(build(t, src), base)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	enough := time.NewTicker(10 * time.Millisecond)
	defer enough.Stop()
	for interrupted := false; ; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			checkRecording(t, base)
			return
		case <-enough.C:
			if info, err := os.Stat(base + ".0"); err == nil && info.Size() > 4000 && !interrupted {
				cmd.Process.Signal(os.Interrupt)
				interrupted = true
			}
		}
	}
}

// checkRecording checks that an archive has what the program records once, and what it records often.
func checkRecording(t *testing.T, base string) {
	for _, name := range []string{"kernel.all.load", "hinv.ncpu"} {
		c, err := pmapi.Open(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ids, err := c.Lookup(t.Context(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		var r pdu.Result
		if err := c.Fetch(t.Context(), ids, &r); err != nil || r.At(0).Len() != 1 {
			t.Errorf("%s: %d values, %v", name, r.Len(), err)
		}
	}
}
