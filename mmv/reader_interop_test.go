package mmv

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// needAgentC returns the path of PCP's pmdammv, which is a part of pminfo in these tests.
func needAgentC(t testing.TB) string {
	t.Helper()
	agent := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "mmv", "pmda_mmv.so")
	pcptest.Need(t, "pminfo", agent)
	return agent
}

// agentC has PCP's pmdammv export the files of a directory, and returns what pminfo -f prints of
// them: of each metric, its lines in order. It has no collector: the agent is a part of pminfo.
func agentC(t testing.TB, dir string) (metrics map[string][]string, err error) {
	t.Helper()
	agent := needAgentC(t)
	names := filepath.Join(dir, "root")
	if err := os.WriteFile(names, []byte("root {\n\tmmv 70:*:*\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), pcptest.Tool(t, "pminfo"), "-L", "-n", names, "-K", "clear",
		"-K", "add,70,"+agent+",mmv_init", "-f", "mmv")
	cmd.Env = append(pcptest.Env(), "PCP_TMP_DIR="+dir)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 {
		return nil, errCrash
	}
	metrics = make(map[string][]string)
	for block := range strings.SplitSeq(string(out), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		if name, ok := strings.CutPrefix(lines[0], "mmv.file."); ok {
			slices.Sort(lines[1:])
			metrics[name] = lines[1:]
		}
	}
	return metrics, nil
}

// agentGo is the same as our reader has it.
func agentGo(t testing.TB, image []byte) map[string][]string {
	t.Helper()
	metrics := make(map[string][]string)
	f, err := Read(bytes.NewReader(image))
	if err != nil {
		return metrics
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	names := f.instanceNames()
	for _, m := range s.Metrics {
		if !exportable(m.Metric.Name) {
			continue
		}
		lines := []string{}
		for _, v := range m.Values {
			if v.Err != nil {
				lines = append(lines, "Error: "+pdu.FromError(v.Err).Error())
				continue
			}
			text := pdu.ValueFormat{}.Format(v.Value)
			if m.Metric.InDom == 0 {
				lines = append(lines, "    value "+text)
			} else {
				lines = append(lines, fmt.Sprintf("    inst [%d or %q] value %s", v.Instance.ID, v.Instance.Name, text))
			}
		}
		switch {
		case len(lines) == 0 && (m.Metric.InDom == 0 || len(names[m.Metric.InDom]) > 0):
			lines = []string{"Error: " + pdu.ErrInst.Error()} // that of the last instance
		case len(lines) == 0:
			lines = []string{"No value(s) available!"}
		}
		slices.Sort(lines)
		metrics[m.Metric.Name] = slices.Compact(lines)
	}
	return metrics
}

// exportable reports whether an agent takes the name of a metric.
func exportable(name string) bool {
	for _, c := range []byte(name) {
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// otherwise lists the flaws that Read deliberately treats differently from PCP's agent.
var otherwise = map[string]string{
	"metrics twice":        "C has names of the first section and values of the second",
	"type -2":              "C takes the type for the code of an error",
	"no string":            "C takes the header for a string at offset 0",
	"name at 0":            "C takes the header for a name at offset 0",
	"instance's name at 0": "C takes the header for a name at offset 0",
	"names end nowhere":    "C reads on in the next string",

	// These are shapes.
	"sentinels":           "C 6.0.3 does not take a NaN for one",
	"repeated instances":  "C exports an instance as often as the domain has it",
	"elapsed in progress": "time goes on",
}

// compareAgents returns how what our reader finds in a file differs from what PCP's agent exports
// of it. The error is errCrash if the agent has crashed.
func compareAgents(t testing.TB, image []byte) (diff string, err error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mmv", "file")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if len(image) >= headerLen { // the process has gone
		native.PutUint32(image[headerFlags:], native.Uint32(image[headerFlags:])&^uint32(flagProcess|flagNoPrefix))
	}
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := agentC(t, dir)
	got := agentGo(t, image)
	if err != nil {
		return "", err
	}
	return cmp.Diff(want, got), nil
}

// TestAgentCorrupt: of a file with a flaw, PCP's agent exports the metrics and values that our
// reader finds, where it does not crash.
func TestAgentCorrupt(t *testing.T) {
	needAgentC(t)
	t.Parallel()
	compared := 0
	differs := make(map[string]bool)
	list := interopCorruptions(t)
	for _, c := range list {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			diff, err := compareAgents(t, c.image)
			if err != nil {
				return
			}
			compared++
			if diff == "" {
				return
			}
			if differs[c.name] = true; otherwise[c.name] == "" {
				t.Errorf("metrics (-C +Go):\n%s", diff)
			}
		})
	}
	for _, c := range patches {
		if why := otherwise[c.name]; thorough() && why != "" && !differs[c.name] {
			t.Errorf("%s: there is no difference, but there should be: %s", c.name, why)
		}
	}
	if compared < 3*len(list)/4 {
		t.Errorf("only %d files were compared", compared)
	}
}

// TestAgentShapes compares our reader with PCP's agent on files of the C library.
func TestAgentShapes(t *testing.T) {
	t.Parallel()
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			image, err := os.ReadFile(writeC(t, s.script))
			if err != nil {
				t.Fatal(err)
			}
			diff, err := compareAgents(t, image)
			if err != nil {
				t.Fatal(err)
			}
			if (diff != "") != (otherwise[s.name] != "") {
				t.Errorf("metrics (-C +Go), want a difference: %q\n%s", otherwise[s.name], diff)
			}
		})
	}
}
