package mmv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// shapes are files that libpcp_mmv writes: what follows the line "file|PATH" in the script for
// pcptest.WriteMMV, with the cluster and the flags as the rest of that line.
var shapes = []struct{ name, script string }{
	{"empty", "0|0\nstart"},
	{"labels only", "17|0\nlabel|cluster|0|0|app|\"demo\"|1|0\nstart"},
	{"sample", "11|2\n" + sampleShape},
	{"sample with labels", "13|2\n" + sampleShape[:strings.Index(sampleShape, "start")] + sampleLabels +
		sampleShape[strings.Index(sampleShape, "start"):]},
	{"types", "21|0\n" + typesShape(0) + "start\n" + typesValues("")},
	{"types over a domain", "22|1\nindom|7||\ninstance|7|10|ten\ninstance|7|-20|minus twenty\n" + typesShape(7) +
		"start\n" + typesValues("minus twenty")},
	{"sentinels", "23|4\nindom|7||\ninstance|7|10|ten\ninstance|7|-20|minus twenty\n" + typesShape(7) +
		"start\n" + sentinelValues},
	{"name of 63", "1|0\n" + named(63)},
	{"name of 64", "1|0\n" + named(64)},
	{"name of 255", "1|0\n" + named(255)},
	{"instance of 64", "1|0\nindom|3||\ninstance|3|0|" + strings.Repeat("i", 64) + "\nmetric|m|1|1|1|0|3||\nstart"},
	{"texts of 255", "1|0\nmetric|m|1|1|1|0|0|" + strings.Repeat("s", 255) + "|" + strings.Repeat("l", 255) + "\nstart"},
	{"texts too long", "1|0\nmetric|m|1|1|1|0|0|" + strings.Repeat("s", 300) + "|" + strings.Repeat("l", 400) + "\nstart"},
	{"only one text", "1|0\nindom|1||help\nindom|2|short|\nmetric|a|1|1|1|0|0|short|\nmetric|b|2|1|1|0|0||help\nstart"},
	{"extreme integers", "1|0\nmetric|i|1|0|3|0|0\nmetric|u|2|1|3|0|0\nmetric|l|3|2|3|0|0\nmetric|ul|4|3|3|0|0\nstart\n" +
		"bits|i||80000000|0\nbits|u||ffffffff|0\nbits|l||8000000000000000|0\nbits|ul||ffffffffffffffff|0"},
	{"extreme floats", extremeFloats()},
	{"high bits beside 32 bits", "1|0\nmetric|i|1|0|3|0|0\nmetric|u|2|1|3|0|0\nmetric|f|3|4|3|0|0\nstart\n" +
		"bits|i||123456787fffffff|0\nbits|u||1234567880000000|0\nbits|f||123456783f800000|0"},
	{"elapsed with a bad start", "1|0\nmetric|e|1|9|1|0|0\nstart\nbits|e||100|17"},
	{"elapsed in progress", "1|0\nmetric|e|1|9|1|0|0\nstart\nset|e||1000\nbegin|e|"},
	{"strings", "1|0\nindom|1||\ninstance|1|0|a\ninstance|1|1|b\ninstance|1|2|c\nmetric|s|1|6|4|0|1\nstart\nstring|s|a|" +
		strings.Repeat("x", 254) + "\nstring|s|b|" + strings.Repeat("y", 255) + "\nstring|s|c|with \"quotes\" and \\"},
	{"all flags", "4095|15\nmetric|m|1|1|1|0|0\nstart"},
	{"unknown flag", "2|8\nmetric|m|1|1|1|0|0\nstart"},
	{"mmv_stats_init", "31|2\ninit|1\n" + sampleShape},
	{"mmv_stats2_init", "32|0\ninit|2\n" + strings.ReplaceAll(sampleShape, "red", strings.Repeat("red", 30))},
	{"two domains mixed", "33|0\nindom|1|one|\nindom|2|two|\ninstance|2|0|a\ninstance|1|0|x\ninstance|2|1|b\ninstance|1|1|y\n" +
		"metric|m1|1|2|3|0|1\nmetric|m2|2|2|3|0|2\nmetric|n1|3|5|3|0|1\nstart\nset|m1|y|5\nset|m2|b|6\nset|n1|x|7"},
	{"domain without instances", "34|0\nindom|1|one|\nmetric|m|1|2|3|0|1\nstart"},
	{"semantics", "35|0\nmetric|zero|1|2|0|0|0\nmetric|one|2|2|1|0|0\nmetric|three|3|2|3|0|0\nmetric|four|4|2|4|0|0\n" +
		"metric|nine|5|2|9|0|0\nstart"},
	{"units", unitsShape()},
	{"items", "36|0\nmetric|big|5000|1|1|0|0\nmetric|a|7|1|1|0|0\nmetric|b|7|1|1|0|0\nmetric|last|1023|1|1|0|0\nstart\n" +
		"set|a||1\nset|b||2"},
	{"UTF-8", "37|0\nindom|1|ätherisch|\ninstance|1|0|zwölf\nmetric|größe|1|6|4|0|1|Größe|日本\nstart\nstring|größe|zwölf|Ω"},
	{"domain -1", "38|0\nmetric|m|1|1|1|0|-1\nmetric|n|2|1|1|0|0\nstart"},
	{"extreme instances", "39|0\nindom|4194303||\ninstance|4194303|-1|none\ninstance|4194303|-2147483648|least\n" +
		"instance|4194303|2147483647|greatest\nmetric|m|1|1|1|0|4194303\nstart\nset|m|none|1\nset|m|least|2\nset|m|greatest|3"},
	{"repeated instances", "40|0\nindom|1||\ninstance|1|5|first\ninstance|1|5|second\ninstance|1|4|third\nmetric|m|1|1|1|0|1\n" +
		"start\nset|m|first|1\nset|m|second|2\nset|m|third|3"},
	{"repeated domain", "41|0\nindom|1|one|\nindom|1|two|\ninstance|1|5|a\nmetric|m|1|1|1|0|1\nstart"},
	{"1,023 metrics", manyShape(1023, 0)},
	{"1,024 metrics", manyShape(1024, 0)},
	{"500 instances", manyShape(2, 500)},
}

const sampleShape = `indom|5|colours|
instance|5|1|red
instance|5|2|green
metric|hits|1|1|1|00100000|5|Hits|Hits by colour
metric|state|2|6|4|0|0||
metric|busy|3|9|1|01001000|0||Busy time
metric|rate|4|5|3|1f013000|-1||
start
set|hits|red|7
set|hits|green|2
string|state||idle
set|busy||1000
set|rate||2.5
`

const sampleLabels = `label|cluster|0|0|app|"demo"|1|0
label|indom|5|0|palette|"rgb"|1|0
label|item|1|0|critical|true|3|1
label|instance|5|2|wave|530|2|0
label|item|4|0|parts|{"a":[1,2]}|6|0
`

// typesShape is a metric of each type.
func typesShape(serial int) string {
	var b strings.Builder
	for i, t := range []valueType{type32, typeU32, type64, typeU64, typeFloat, typeDouble, typeString, typeElapsed, typeNoSupport} {
		fmt.Fprintf(&b, "metric|m%d|%d|%d|3|0|%d|\n", i, i, int(t), serial)
	}
	return b.String()
}

func typesValues(inst string) string {
	return strings.ReplaceAll(`set|m0|I|-42
set|m1|I|42
set|m2|I|-4200000000000
set|m3|I|4200000000000
set|m4|I|1.5
set|m5|I|-2.25
string|m6|I|text
set|m7|I|99
`, "I", inst)
}

// sentinelValues make the first instance of each metric absent, except those that only look like
// sentinels.
const sentinelValues = `bits|m0|ten|ffffffffffffffff|0
bits|m0|minus twenty|00000000ffffffff|0
bits|m1|ten|ffffffffffffffff|0
bits|m2|ten|ffffffffffffffff|0
bits|m3|ten|ffffffffffffffff|0
bits|m4|ten|000000007fc00000|0
bits|m5|ten|7ff8000000000001|0
string|m6|minus twenty|there
bits|m7|ten|ffffffffffffffff|0
`

func named(n int) string {
	return "metric|" + strings.Repeat("n", n) + "|1|1|1|0|0|\nstart\nset|" + strings.Repeat("n", n) + "||3"
}

func extremeFloats() string {
	b := strings.Builder{}
	b.WriteString("1|0\nindom|1||\n")
	doubles := []string{"7fefffffffffffff", "8000000000000000", "1", "7ff0000000000000", "fff0000000000000", "7ff8000000000000",
		"fff8000000000000", "3fb999999999999a", "c08f400000000000"}
	floats := []string{"7f7fffff", "80000000", "1", "7f800000", "ff800000", "7fc00000", "ffc00000", "3dcccccd", "c47a0000"}
	for i := range doubles {
		fmt.Fprintf(&b, "instance|1|%d|i%d\n", i, i)
	}
	b.WriteString("metric|f|1|4|3|0|1\nmetric|d|2|5|3|0|1\nstart\n")
	for i := range doubles {
		fmt.Fprintf(&b, "bits|f|i%d|%s|0\nbits|d|i%d|%s|0\n", i, floats[i], i, doubles[i])
	}
	return b.String()
}

func unitsShape() string {
	b := strings.Builder{}
	b.WriteString("1|0\n")
	for i, u := range []string{"0", "00100000", "01001000", "1f013000", "10010000", "f0000000", "0f000000", "00f00000",
		"12345600", "ffffff00", "0010000f", "00000300", "01003000", "1f044600", "80000000", "77777700"} {
		fmt.Fprintf(&b, "metric|u%d|%d|2|3|%s|0|\n", i, i, u)
	}
	return b.String() + "start"
}

// manyShape has so many metrics, over a domain with so many instances if that is not 0.
func manyShape(metrics, instances int) string {
	b := strings.Builder{}
	b.WriteString("1|0\n")
	serial := 0
	if instances > 0 {
		serial = 9
		b.WriteString("indom|9||\n")
	}
	for i := range instances {
		fmt.Fprintf(&b, "instance|9|%d|instance %d\n", i, i)
	}
	for i := range metrics {
		fmt.Fprintf(&b, "metric|metric.number.%d|%d|3|1|0|%d|\n", i, i, serial)
	}
	return b.String() + "start"
}

// writeC has libpcp_mmv write a shape and returns the file's path.
func writeC(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	pcptest.WriteMMV(t, "file|"+path+"|"+script+"\n")
	return path
}

// recorded returns a file in testdata, which libpcp_mmv has written on a little-endian host.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	if native.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the recorded files are those of a little-endian host")
	}
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recordings are the files in testdata, one of each version.
var recordings = []string{"v1.mmv", "v2.mmv", "v3.mmv"}

// recordedShapes are the scripts that they were made by.
func recordedShapes() map[string]string {
	script := func(name string) string {
		for _, s := range shapes {
			if s.name == name {
				return s.script
			}
		}
		panic(name)
	}
	return map[string]string{"v1.mmv": script("sample"), "v2.mmv": script("mmv_stats2_init"), "v3.mmv": script("sample with labels")}
}
