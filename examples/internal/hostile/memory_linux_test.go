package hostile_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// replyLen is about how long the replies are. Tools refuse more than 16 MiB by default.
var replyLen = 20 << 20

// frame completes a PDU: b has the room for its header, and the body.
func frame(kind pdu.Kind, b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	binary.BigEndian.PutUint32(b[4:], uint32(kind))
	return b
}

// begin makes a PDU of about replyLen bytes, with the first words of its body.
func begin(words ...uint32) []byte {
	b := make([]byte, pdu.HeaderLen, replyLen+1<<16)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// elements adds n elements to a PDU.
func elements(b []byte, n int, add func(b []byte, i int) []byte) []byte {
	for i := range n {
		b = add(b, i)
	}
	return b
}

// padded adds a string with its length.
func padded(b []byte, s string) []byte {
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	return append(b, "\x00\x00\x00"[:(4-len(s)%4)%4]...)
}

// instanceName is a name of 16 bytes.
func instanceName(i int) string { return "instance" + strconv.Itoa(10_000_000+i) }

// The replies of about replyLen bytes, by their names.
var hugeReplies = map[string]struct {
	kind pdu.Kind
	make func() []byte
}{
	"values": {pdu.KindHighResFetch, func() []byte {
		n := replyLen / 8
		b := elements(begin(1, 0, 1, 0, 0, uint32(metricID), uint32(n), 0), n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(i)<<32|17)
		})
		return frame(pdu.KindHighResResult, b)
	}},
	"backward values": {pdu.KindHighResFetch, func() []byte {
		n := replyLen / 8
		b := elements(begin(1, 0, 1, 0, 0, uint32(metricID), uint32(n), 0), n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(n-i)<<32|17)
		})
		return frame(pdu.KindHighResResult, b)
	}},
	"values in blocks": {pdu.KindHighResFetch, func() []byte {
		n := replyLen / 20
		b := begin(1, 0, 1, 0, 0, uint32(metricID), uint32(n), 1)
		first := len(b)/4 + 2*n
		b = elements(b, n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(i)<<32|uint64(first+3*i))
		})
		b = elements(b, n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, uint32(pdu.TypeU64)<<24|12), uint64(i))
		})
		return frame(pdu.KindHighResResult, b)
	}},
	"long strings": {pdu.KindHighResFetch, func() []byte {
		const size = 16<<20 - 4
		n := replyLen / size
		b := begin(1, 0, 1, 0, 0, uint32(metricID), uint32(n), 1)
		first := len(b)/4 + 2*n
		b = elements(b, n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(i)<<32|uint64(first+size/4*i))
		})
		b = elements(b, n, func(b []byte, i int) []byte {
			b = binary.BigEndian.AppendUint32(b, uint32(pdu.TypeString)<<24|size)
			return append(b, slices.Repeat([]byte{'x'}, size-4)...)
		})
		return frame(pdu.KindHighResResult, b)
	}},
	"instances": {pdu.KindInstanceReq, func() []byte {
		n := replyLen / 28
		b := elements(begin(uint32(inDom), uint32(n)), n, func(b []byte, i int) []byte {
			return padded(binary.BigEndian.AppendUint32(b, uint32(i)), instanceName(i))
		})
		return frame(pdu.KindInstance, b)
	}},
	"backward instances": {pdu.KindInstanceReq, func() []byte {
		n := replyLen / 28
		b := elements(begin(uint32(inDom), uint32(n)), n, func(b []byte, i int) []byte {
			return padded(binary.BigEndian.AppendUint32(b, uint32(n-i)), instanceName(i))
		})
		return frame(pdu.KindInstance, b)
	}},
	"short instances": {pdu.KindInstanceReq, func() []byte {
		n := replyLen / 12
		b := elements(begin(uint32(inDom), uint32(n)), n, func(b []byte, i int) []byte {
			return padded(binary.BigEndian.AppendUint32(b, uint32(i)), "ab")
		})
		return frame(pdu.KindInstance, b)
	}},
	"names": {pdu.KindPMNSTraverse, func() []byte {
		n := replyLen / 24
		b := elements(begin(uint32(n*21), 0, uint32(n)), n, func(b []byte, i int) []byte {
			return padded(b, "huge."+fmt.Sprintf("%015d", i))
		})
		return frame(pdu.KindPMNSNames, b)
	}},
	"short names": {pdu.KindPMNSTraverse, func() []byte {
		n := replyLen / 8
		b := elements(begin(uint32(n*3), 0, uint32(n)), n, func(b []byte, i int) []byte { return padded(b, "ab") })
		return frame(pdu.KindPMNSNames, b)
	}},
	"PMIDs": {pdu.KindPMNSNames, func() []byte {
		n := replyLen / 4
		b := elements(begin(1, uint32(n)), n, func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint32(b, uint32(metricID))
		})
		return frame(pdu.KindPMNSIDs, b)
	}},
	"descriptors": {pdu.KindDescReq, func() []byte {
		n := replyLen / 20
		b := elements(begin(uint32(metricID), uint32(pdu.TypeU32), uint32(inDom), uint32(pdu.SemInstant), 0), n-1, func(b []byte, i int) []byte {
			return append(b, b[pdu.HeaderLen:pdu.HeaderLen+20]...)
		})
		return frame(pdu.KindDesc, b)
	}},
	"text": {pdu.KindTextReq, func() []byte {
		b := begin(uint32(metricID), uint32(replyLen))
		return frame(pdu.KindText, append(b, slices.Repeat([]byte("all work and no play\n"), replyLen/21+1)[:replyLen]...))
	}},
	"labels": {pdu.KindLabelReq, func() []byte {
		return labels(fmt.Sprintf(`{"l":"%s"}`, strings.Repeat("x", labelLen)))
	}},
	"empty labels": {pdu.KindLabelReq, func() []byte { return labels("") }},
}

// labelLen is the length of the value of a label.
const labelLen = 80

// labels makes a reply with label sets of instances, which have one label, or none if it is empty.
func labels(json string) []byte {
	n := replyLen / (24 + len(json))
	indexed := uint32(1)
	if json == "" {
		n, indexed = replyLen/16, 0
	}
	b := begin(uint32(inDom), uint32(pdu.LabelInstances), 0, uint32(n))
	text := len(b) + n*(16+8*int(indexed))
	b = elements(b, n, func(b []byte, i int) []byte {
		for _, w := range []uint32{uint32(i), indexed, uint32(text + i*len(json)), uint32(len(json))} {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		if json != "" {
			b = append(b, 0, 2, 1, byte(pdu.LabelInstances), 0, 5, 0, labelLen+2)
		}
		return b
	})
	b = elements(b, n, func(b []byte, i int) []byte { return append(b, json...) })
	return frame(pdu.KindLabel, b)
}

// peakRSS runs a tool, with its output to out, and returns the most memory that it had. What
// wait(2) says of it would include the test's own, from before the tool was executed.
func peakRSS(t *testing.T, env []string, out io.Writer, argv ...string) (bytes int) {
	t.Helper()
	program := pcptest.Build(t, "./examples/"+argv[0])
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for one that hangs
	defer cancel()
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Env = append(pcptest.Env(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // some of the replies are errors
		close(ended)
	}()
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
			if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
				kib, _ := strconv.Atoi(strings.Fields(after)[0])
				bytes = max(bytes, kib<<10)
			}
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ended:
			if ctx.Err() != nil {
				t.Errorf("%q does not end", argv)
			}
			return bytes
		}
	}
}

var all = flag.Bool("all", false, "have all huge replies, of 80 MiB, which takes half a minute")

// oneReplyOf is how many kinds of huge replies there are for each that the usual test has.
const oneReplyOf = 10

// A tool needs at most three times the memory of the replies of its collector, if the limit on
// replies is raised.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	if *all {
		replyLen = 80 << 20
	}
	for i, tt := range []struct {
		replies []string
		lines   [][]string
	}{
		{[]string{"values"}, [][]string{{"pmval", "-s", "1"}, {"pmprobe", "-v"}, {"pmprobe", "-I"}, {"pmstore", "", "1"}}},
		{[]string{"backward values"}, [][]string{{"pmval", "-s", "1"}}},
		{[]string{"values in blocks"}, [][]string{{"pmprobe", "-v"}}},
		{[]string{"long strings"}, [][]string{{"pmval", "-s", "1"}, {"pminfo", "-f"}, {"pmprobe", "-v"}}},
		{[]string{"instances"}, [][]string{{"pmval", "-s", "1"}, {"pminfo", "-f"}, {"pmprobe", "-I"}, {"pmstore", "-f", "", "1"}}},
		{[]string{"short instances"}, [][]string{{"pmval", "-s", "1"}}},
		{[]string{"values", "instances"}, [][]string{{"pmprobe", "-I"}}},
		{[]string{"names"}, [][]string{{"pminfo"}}},
		{[]string{"short names"}, [][]string{{"pminfo"}}},
		{[]string{"PMIDs"}, [][]string{{"pmval", "-s", "1"}}},
		{[]string{"descriptors"}, [][]string{{"pmval", "-s", "1"}}},
		{[]string{"text"}, [][]string{{"pminfo", "-t"}, {"pminfo", "-T"}}},
		{[]string{"labels"}, [][]string{{"pminfo", "-l"}}},
		{[]string{"empty labels"}, [][]string{{"pminfo", "-l"}}},
	} {
		if !*all && i%oneReplyOf != 0 {
			continue
		}
		c := collector{replies: map[pdu.Kind]func([]byte) []byte{}}
		for _, name := range tt.replies {
			huge := hugeReplies[name]
			reply := huge.make()
			c.replies[huge.kind] = func([]byte) []byte { return reply }
		}
		addr, total := c.serve(t), len(tt.replies)*replyLen
		for _, line := range tt.lines {
			argv := append([]string{line[0], "-h", addr}, line[1:]...)
			switch i := slices.Index(argv, ""); {
			case i >= 0:
				argv[i] = metricName
			case !strings.Contains(tt.replies[0], "names"):
				argv = append(argv, metricName)
			}
			start := time.Now()
			peak := peakRSS(t, []string{"PMCD_MAX_REPLY=" + strconv.Itoa(128<<20)}, io.Discard, argv...)
			t.Logf("%q with %q: %.1f times the replies, %v", line, tt.replies, float64(peak)/float64(total), time.Since(start))
			if peak > 3*total {
				t.Errorf("%q with %q: %d MiB, %.1f times the replies", line, tt.replies, peak>>20, float64(peak)/float64(total))
			}
		}
	}
}
