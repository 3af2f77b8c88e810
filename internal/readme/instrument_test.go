package readme

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// runInstrumented runs a program that has metrics, and what the README has it do and pminfo show after it: by a
// collector in it if it has one, else by its file and examples/pmcd.
func runInstrumented(t *testing.T, src, text string) {
	tmp := t.TempDir()
	if err := os.Mkdir(filepath.Join(tmp, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_TMP_DIR=" + tmp}
	src, addr := somewhere(t, src)
	host := addr
	if !strings.Contains(src, "collector.Server") {
		port := fmt.Sprint(pcptest.FreePort(t))
		host = "localhost:" + port
		pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"),
			Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
			Dir:  t.TempDir(), Env: env, Addr: host, Greets: true})
	}
	p := pcptest.Start(t, pcptest.Daemon{Path: build(t, src), Env: env, Addr: addr, Greets: host == addr})
	_, text, _ = strings.Cut(text, "```\n")
	text, _, _ = strings.Cut(text, "```")
	commands := regexp.MustCompile(`(?m)^\$ (\S+) (.*)\n((?:[^$\n].*\n|\n)*)`).FindAllStringSubmatch(text, -1)
	if len(commands) == 0 {
		t.Fatalf("nothing is shown:\n%s", text)
	}
	for _, c := range commands {
		switch c[1] {
		case "curl":
			post(t, "http://"+addr+regexp.MustCompile(`localhost:\d+(.*)`).FindStringSubmatch(c[2])[1])
		case "pminfo":
			within(t, c[0], func() error {
				args := append([]string{pcptest.Build(t, "./examples/pminfo"), "-h", host}, strings.Fields(c[2])...)
				out, errs, status := pcptest.Run(t, nil, "", args...)
				if d := cmp.Diff(c[3], out); d != "" || errs != "" || status != 0 {
					return fmt.Errorf("exit status %d, shown (-), printed (+):\n%s%s", status, d, errs)
				}
				return nil
			})
		default:
			t.Errorf("what is %s?", c[0])
		}
	}
	if bad := regexp.MustCompile(`(?i)mmv:|panic|fatal`).FindString(p.Log()); bad != "" {
		t.Errorf("it prints %q:\n%s", bad, p.Log())
	}
}

func post(t *testing.T, url string) {
	t.Helper()
	r, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("POST %s: %s", url, r.Status)
	}
}
