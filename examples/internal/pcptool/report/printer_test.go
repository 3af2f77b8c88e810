package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

var printerTests = []struct {
	name    string
	change  func(o *Options)
	metrics []Metric
	samples []*Sample
	want    string
}{
	{
		name:    "standard",
		change:  func(o *Options) { o.Timestamp = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", ""), sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		|          m.u.used  d.d.read  d.d.read
		|                         sda       sdb
		|             Kbyte   count/s   count/s
		|00:00:00         0       N/A       N/A
		|00:00:01         1     1.000     1.000
`),
	},
	{
		name:    "delimiter",
		change:  func(o *Options) { o.Delimiter = "|"; o.IncludeLabels = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", ""), sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		||m.u.used|d.d.read|d.d.read
		||       ||     sda|     sdb
		||      {}|      {}|      {}
		||   Kbyte| count/s| count/s
		||       0|     N/A|     N/A
		||       1|   1.000|   1.000
`),
	},
	{
		name:    "no delimiter",
		change:  func(o *Options) { o.Delimiter = "" },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		|m.u.usedd.d.readd.d.read
		|             sda     sdb
		|   Kbyte count/s count/s
		|       1   1.000   1.000
`),
	},
	{
		name:    "delimiter wider than columns",
		change:  func(o *Options) { o.Delimiter = "12345678901"; o.Timestamp = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda")},
		samples: []*Sample{sample(0, "0", "")},
		want: lines(`
		|        12345678901m.u.used12345678901d.d.read
		|        123456789011234567812345678901     sda
		|        12345678901   Kbyte12345678901 count/s
		|00:00:0012345678901       012345678901     N/A
`),
	},
	{
		name:    "no units and instances",
		change:  func(o *Options) { o.UnitInfo, o.InstInfo = false, false },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		|  m.u.used  d.d.read  d.d.read
		|         1     1.000     1.000
`),
	},
	{
		name:    "no header",
		change:  func(o *Options) { o.Header = false; o.RepeatHeader = 1; o.Timestamp = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", ""), sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		|00:00:00         0       N/A       N/A
		|00:00:01         1     1.000     1.000
`),
	},
	{
		name:    "repetitions of an instance",
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sda", "sdb")},
		samples: []*Sample{sample(0, "sda=1. sda=1. sdb=3."), sample(1, "sdb=3. sda=1.")},
		want: lines(`
		|  d.d.read  d.d.read  d.d.read
		|       sda       sda       sdb
		|   count/s   count/s   count/s
		|     1.000     1.000     3.000
		|     1.000     1.000     3.000
`),
	},
	{
		name:    "repetitions of an instance, ranked",
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sdb", "sda", "sda", "sdb", "sdc")},
		samples: []*Sample{sample(0, "sda=1. sda=1. sdb=3.")},
		want: lines(`
		|  d.d.read  d.d.read  d.d.read  d.d.read  d.d.read
		|       sdb       sda       sda       sdb       sdc
		|   count/s   count/s   count/s   count/s   count/s
		|     3.000     1.000     1.000     3.000       N/A
`),
	},
	{
		name:    "ranked",
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "sdb=3. sda=1."), sample(1, "sdb=3.")},
		want: lines(`
		|  d.d.read  d.d.read
		|       sda       sdb
		|   count/s   count/s
		|     1.000     3.000
		|       N/A     3.000
`),
	},
	{
		name:    "separate header",
		change:  func(o *Options) { o.SeparateHeader = true; o.Timestamp = true; o.IncludeLabels = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb"), metric("sample.colour", "s.colour", "")},
		samples: []*Sample{sample(0, "0", "", "7")},
		want: lines(`
		|[ 1] - mem.util.used - Kbyte
		|[ 1] - {}
		|[ 2] - disk.dev.read["sda"] - count/s
		|[ 2] - {}
		|[ 3] - disk.dev.read["sdb"] - count/s
		|[ 3] - {}
		|[ 4] - sample.colour - none
		|[ 4] - {}
		|
		|                 1         2         3         4
		|00:00:00         0       N/A       N/A         7
`),
	},
	{
		name:    "separate header without units",
		change:  func(o *Options) { o.SeparateHeader, o.UnitInfo = true, false },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", "")},
		want: lines(`
		|[ 1] - mem.util.used
		|[ 2] - disk.dev.read["sda"]
		|[ 3] - disk.dev.read["sdb"]
		|
		|         1         2         3
		|         0       N/A       N/A
`),
	},
	{
		name:    "swapped",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.Timestamp = true, "D", true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", ""), sample(1, "1", "sda=1. sdb=1.")},
		want: lines(`
		|          D  m.u.used  d.d.read
		|                Kbyte   count/s
		|00:00:00  =         0         ~
		|00:00:00  s         ~       N/A
		|00:00:00  s         ~       N/A
		|00:00:01  =         1         ~
		|00:00:01  s         ~     1.000
		|00:00:01  s         ~     1.000
`),
	},
	{
		name:    "swapped with labels",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.Delimiter, o.IncludeLabels = true, "DISKNAME", "|", true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", "")},
		want: lines(`
		||DISKNAME|m.u.used|d.d.read
		||        |      {}|      {}
		||        |   Kbyte| count/s
		||       =|       0|       ~
		||     sda|       ~|     N/A
		||     sdb|       ~|     N/A
`),
	},
	{
		name:    "swapped without heading",
		change:  func(o *Options) { o.Swapped = true; o.UnitInfo = false },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(1, "sda=1. sdb=1.")},
		want: lines(`
		|            d.d.read
		|       sda     1.000
		|       sdb     1.000
`),
	},
	{
		name:    "swapped with shared columns",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.Timestamp = true, "I", true },
		metrics: []Metric{metric("disk.dev.read", "a", "count/s", "sda"), func() Metric { m := metric("mem.util.used", "a", "Kbyte"); m.Width = 6; return m }(), metric("disk.dev.write", "b", "count/s", "sdb"), func() Metric { m := metric("kernel.pernode.cpu.sys", "a", "ms/s", "cpu0"); m.Width = 12; return m }()},
		samples: []*Sample{sample(0, "", "0", "", ""), sample(1, "sda=1.", "1", "sdb=1.", "cpu0=1.")},
		want: lines(`
		|          I    a    b
		|             cou  cou
		|00:00:00  s  N/A    ~
		|00:00:00  =       0    ~
		|00:00:00  s    ~  N/A
		|00:00:00  c  N/A    ~
		|00:00:01  s  1.0    ~
		|00:00:01  =       1    ~
		|00:00:01  s    ~  1.0
		|00:00:01  c         1.000    ~
`),
	},
	{
		name:    "fixed header with shared columns",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.Timestamp, o.FixedHeader = true, "I", true, true },
		metrics: []Metric{metric("disk.dev.read", "a", "count/s", "sda"), func() Metric { m := metric("mem.util.used", "a", "Kbyte"); m.Width = 6; return m }(), metric("disk.dev.write", "b", "count/s", "sdb"), func() Metric { m := metric("kernel.pernode.cpu.sys", "a", "ms/s", "cpu0"); m.Width = 12; return m }()},
		samples: []*Sample{sample(1, "", "1", "", ""), sample(2, "sda=1.", "2", "sdb=3.", "cpu0=1.")},
		want: lines(`
		|          I    a    b
		|             cou  cou
		|00:00:01  =    ~    ~
		|00:00:02  s  1.0    ~
		|00:00:02  =    ~    ~
		|00:00:02  s    ~  3.0
		|00:00:02  c    ~    ~
`),
	},
	{
		name:    "dynamic header with shared columns",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.Timestamp, o.DynamicHeader = true, "I", true, true },
		metrics: []Metric{metric("disk.dev.read", "a", "count/s", "sda"), func() Metric { m := metric("mem.util.used", "a", "Kbyte"); m.Width = 6; return m }(), metric("disk.dev.write", "b", "count/s", "sdb"), func() Metric { m := metric("kernel.pernode.cpu.sys", "a", "ms/s", "cpu0"); m.Width = 12; return m }()},
		samples: []*Sample{sample(0, "", "0", "", ""), sample(1, "sda=1.", "1", "sdb=1.", "cpu0=1.")},
		want: lines(`
		|          I       a
		|              Kbyte
		|00:00:00  =       0
		|
		|          I    a    b
		|             cou  cou
		|00:00:01  s  1.0    ~
		|00:00:01  s    ~  1.0
`),
	},
	{
		name: "separate dynamic header with shared columns",
		change: func(o *Options) {
			o.Swapped, o.SwapLabel, o.Timestamp, o.DynamicHeader, o.SeparateHeader = true, "I", true, true, true
		},
		metrics: []Metric{metric("disk.dev.read", "a", "count/s", "sda"), func() Metric { m := metric("mem.util.used", "a", "Kbyte"); m.Width = 6; return m }(), metric("disk.dev.write", "b", "count/s", "sdb"), func() Metric { m := metric("kernel.pernode.cpu.sys", "a", "ms/s", "cpu0"); m.Width = 12; return m }()},
		samples: []*Sample{sample(1, "sda=1.", "1", "sdb=1.", "cpu0=1.")},
		want: lines(`
		|[ 1] - disk.dev.read["sda"] - count/s
		|[ 1] - mem.util.used - Kbyte
		|[ 1] - kernel.pernode.cpu.sys["cpu0"] - ms/s
		|[ 2] - disk.dev.write["sdb"] - count/s
		|
		|               1    2
		|00:00:01  s  1.0    ~
		|00:00:01  s    ~  1.0
`),
	},
	{
		name: "separate fixed header",
		change: func(o *Options) {
			o.Swapped, o.SwapLabel, o.FixedHeader, o.SeparateHeader, o.IncludeLabels = true, "DISK", true, true, true
		},
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", ""), sample(1, "", "")},
		want: lines(`
		|[ 1] - mem.util.used - Kbyte
		|[ 1] - {}
		|[ 2] - disk.dev.read - count/s
		|[ 2] - {}
		|
		|               1         2
		|     =         0         ~
		|   N/A         ~         ~
`),
	},
	{
		name:    "first metric of a cell",
		change:  func(o *Options) { o.Swapped, o.SwapLabel = true, "I" },
		metrics: []Metric{metric("disk.dev.read", "a", "count/s", "sda"), metric("disk.dev.write", "a", "count", "sda")},
		samples: []*Sample{sample(0, "", "sda=0")},
		want: lines(`
		|  I    a
		|     cou
		|  s  N/A
`),
	},
	{
		name:    "dynamic header",
		change:  func(o *Options) { o.DynamicHeader, o.Timestamp = true, true },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb"), metric("disk.dev.write", "d.d.write", "count/s", "sda", "sdb"), metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0, "", "", ""), sample(1, "sda=1. sdb=1.", "sda=1. sdb=1.", ""), sample(2, "sdb=1.", "sdb=1.", "2"), sample(3, "sdb=1.", "sdb=1.", "3"), sample(4, "", "", ""), sample(5, "sdb=1.", "sdb=1.", "3")},
		want: lines(`
		|00:00:00  N/A
		|
		|          d.d.read  d.d.read  d.d.write  d.d.write
		|               sda       sdb        sda        sdb
		|           count/s   count/s    count/s    count/s
		|00:00:01     1.000     1.000      1.000      1.000
		|
		|          d.d.read  d.d.write  m.u.used
		|               sdb        sdb          
		|           count/s    count/s     Kbyte
		|00:00:02     1.000      1.000         2
		|00:00:03     1.000      1.000         3
		|00:00:04  N/A
		|
		|          d.d.read  d.d.write  m.u.used
		|               sdb        sdb          
		|           count/s    count/s     Kbyte
		|00:00:05     1.000      1.000         3
`),
	},
	{
		name:    "dynamic header of singular metrics",
		change:  func(o *Options) { o.DynamicHeader, o.Delimiter = true, "|" },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", "")},
		want: lines(`
		||m.u.used
		||       |
		||   Kbyte
		||       0
`),
	},
	{
		name:    "dynamic header repeated",
		change:  func(o *Options) { o.DynamicHeader, o.Timestamp, o.RepeatHeader = true, true, 2 },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1."), sample(2, "sda=1."), sample(3, "sda=1."), sample(4, "sda=1.")},
		want: lines(`
		|00:00:00  N/A
		|
		|          d.d.read
		|               sda
		|           count/s
		|00:00:01     1.000
		|00:00:02     1.000
		|
		|          d.d.read
		|               sda
		|           count/s
		|00:00:03     1.000
		|00:00:04     1.000
`),
	},
	{
		name:    "dynamic header, no header",
		change:  func(o *Options) { o.DynamicHeader, o.Delimiter, o.Header = true, "|", false },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1. sdb=1.")},
		want: lines(`
		||N/A
		||   1.000|   1.000
`),
	},
	{
		name:    "no values, width",
		change:  func(o *Options) { o.DynamicHeader, o.Delimiter, o.Width = true, "|", 4 },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "")},
		want: lines(`
		|| N/A
`),
	},
	{
		name:    "no values, separate header",
		change:  func(o *Options) { o.DynamicHeader, o.Timestamp, o.SeparateHeader = true, true, true },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "")},
		want: lines(`
		|00:00:00       N/A
`),
	},
	{
		name:    "no values, swapped",
		change:  func(o *Options) { o.DynamicHeader, o.Timestamp, o.Swapped, o.SwapLabel = true, true, true, "ABCDE" },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1.")},
		want: lines(`
		|00:00:00    N/A
		|
		|          ABCDE  d.d.read
		|                  count/s
		|00:00:01    sda     1.000
`),
	},
	{
		name: "fixed header",
		change: func(o *Options) {
			o.FixedHeader, o.Timestamp, o.Swapped, o.SwapLabel, o.RepeatHeader = true, true, true, "i", 2
		},
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1."), sample(2, "sda=1.")},
		want: lines(`
		|          i  d.d.read
		|              count/s
		|00:00:00  N         ~
		|00:00:01  s     1.000
		|
		|          i  d.d.read
		|              count/s
		|00:00:02  s     1.000
`),
	},
	{
		name:    "repeated",
		change:  func(o *Options) { o.RepeatHeader, o.UnitInfo = 1, false },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1.")},
		want: lines(`
		|  d.d.read
		|       sda
		|       N/A
		|
		|  d.d.read
		|       sda
		|     1.000
`),
	},
	{
		name:    "swapped and repeated",
		change:  func(o *Options) { o.Swapped, o.SwapLabel, o.RepeatHeader = true, "I", 2 },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, ""), sample(1, "sda=1."), sample(2, "")},
		want: lines(`
		|  I  d.d.read
		|      count/s
		|  s       N/A
		|  s       N/A
		|  s     1.000
		|  s       N/A
		|
		|  I  d.d.read
		|      count/s
		|  s       N/A
		|  s       N/A
`),
	},
	{
		name:    "strings",
		metrics: []Metric{func() Metric { m := metric("kernel.uname.release", "k.u.release", ""); m.Width = 12; return m }()},
		samples: []*Sample{sample(0, "\"line:\\n:break\""), sample(1, "\"char:<:&:`:$:;\""), sample(2, "\"\""), sample(3, "\"some:åäöšŠžŽ\""), sample(4, "\"X\"")},
		want: lines(`
		|   k.u.release
		|              
		|  line:\n:brea
		|  char:<:&:` + "`" + `:$
		|              
		|  some:åäöšŠžŽ
		|             X
`),
	},
	{
		name:    "strings with the delimiter",
		change:  func(o *Options) { o.Delimiter = ":" },
		metrics: []Metric{func() Metric { m := metric("kernel.uname.release", "k.u.release", ""); m.Width = 12; return m }()},
		samples: []*Sample{sample(0, "\"line:\\n:break\""), sample(1, "\"char:<:&:`:$:;\"")},
		want: lines(`
		|: k.u.release
		|:            
		|:line_\n_brea
		|:char_<_&_` + "`" + `_$
`),
	},
	{
		name:    "times longer than those of now",
		change:  func(o *Options) { o.Timestamp, o.TimeFormat = true, "%H:%M:%S.%f %Z" },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0.25, "0")},
		want: lines(`
		|                  m.u.used
		|                     Kbyte
		|00:00:00.250000          0
`),
	},
	{
		name:    "extended header",
		change:  func(o *Options) { o.ExtendedHeader = true },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0, "0")},
		want: lines(`
		|
		|  archive: rank-pred
		|     host: localhost
		| timezone: UTC+0
		|    start: Thu Jan  1 00:00:00 1970
		|      end: Thu Jan  1 00:00:17 1970
		|  metrics: 1 (1 instance)
		|  samples: 3
		| interval: 1.0 sec
		| duration: 00:00:02
		|
		|  m.u.used
		|     Kbyte
		|         0
`),
	},
	{
		name:    "extended dynamic header",
		change:  func(o *Options) { o.ExtendedHeader, o.DynamicHeader, o.Interpol = true, true, false },
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte"), metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(0, "0", "")},
		want: lines(`
		|
		|  archive: rank-pred
		|     host: localhost
		| timezone: UTC+0
		|    start: Thu Jan  1 00:00:00 1970
		|      end: Thu Jan  1 00:00:17 1970
		|  metrics: 2 (3 instances present in archive)
		|  samples: 3 (requested)
		| interval: N/A
		| duration: 00:00:02
		|
		|  m.u.used
		|          
		|     Kbyte
		|         0
`),
	},
	{
		name:    "csv",
		change:  func(o *Options) { o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S" },
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb"), metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0, "", "0"), sample(1, "sda=1. sdb=-inf", "1")},
		want: lines(`
		|Time,"disk.dev.read-sda","disk.dev.read-sdb","mem.util.used"
		|1970-01-01 00:00:00,,,0
		|1970-01-01 00:00:01,1.000,-inf,1
`),
	},
	{
		name: "csv without instances",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat, o.InstInfo = OutputCSV, ",", "%Y-%m-%d %H:%M:%S", false
		},
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb"), metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(1, "sda=1. sdb=-inf", "1")},
		want: lines(`
		|Time,"disk.dev.read","disk.dev.read","mem.util.used"
		|1970-01-01 00:00:01,1.000,-inf,1
`),
	},
	{
		name: "csv with labels",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S"
			o.IncludeLabels, o.ExtendedCSV = true, true
		},
		metrics: []Metric{func() Metric {
			m := metric("disk.dev.read", "", "", "sda")
			m.Labels = map[pdu.InstID]string{'a': "{'a':'b','c':'d'}"}
			return m
		}(), metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0, "", "0"), sample(1.5, "sda=1.", "1")},
		want: lines(`
		|Host,Interval,Time,"disk.dev.read-sda","{'a':'b';'c':'d'}","mem.util.used","{}"
		|localhost,0,1970-01-01 00:00:00 UTC+0,,0,0
		|localhost,2,1970-01-01 00:00:01 UTC+0,1.000,1.000,1,1
`),
	},
	{
		name: "csv with delimiter",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S"
			o.Delimiter = "dev"
		},
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")},
		samples: []*Sample{sample(1, "sda=1.")},
		want: lines(`
		|Timedev"disk. .read-sda"dev"disk. .read-sdb"
		|1970-01-01 00:00:01dev1.000dev
`),
	},
	{
		name: "csv strings",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S"
			o.Delimiter = ":"
		},
		metrics: []Metric{metric("kernel.uname.release", "k.u.release", "")},
		samples: []*Sample{sample(0, "\"line:\\n:break\""), sample(1, "\"a\\\":\"")},
		want: lines(`
		|Time:"kernel.uname.release"
		|1970-01-01 00:00:00:"line_ _break"
		|1970-01-01 00:00:01:"a _"
`),
	},
	{
		name:    "csv strings with blanks",
		change:  func(o *Options) { o.Output, o.Delimiter, o.TimeFormat = OutputCSV, " ", "%Y-%m-%d" },
		metrics: []Metric{metric("kernel.uname.version", "k.u.version", "")},
		samples: []*Sample{{Time: time.Unix(0, 0), Values: [][]Value{{{Atom: pdu.String("#1 SMP Wed"), Inst: pdu.Instance{ID: pdu.NoInst}}}}}},
		want: lines(`
		|Time "kernel.uname.version"
		|1970-01-01 "#1 SMP Wed"
`),
	},
	{
		name: "dynamic csv",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S"
			o.DynamicHeader = true
			o.RepeatHeader = 2
		},
		metrics: []Metric{metric("disk.dev.read", "d.d.read", "count/s", "sda")},
		samples: []*Sample{sample(14, ""), sample(15, "sda=0."), sample(16, ""), sample(17, "sda=0."), sample(18, "sda=0."), sample(19, "sda=0.")},
		want: lines(`
		|1970-01-01 00:00:14
		|Time,"disk.dev.read-sda"
		|1970-01-01 00:00:15,0.000
		|1970-01-01 00:00:16
		|Time,"disk.dev.read-sda"
		|1970-01-01 00:00:17,0.000
		|1970-01-01 00:00:18,0.000
		|Time,"disk.dev.read-sda"
		|1970-01-01 00:00:19,0.000
`),
	},
	{
		name: "csv with extended header",
		change: func(o *Options) {
			o.Output, o.Delimiter, o.TimeFormat = OutputCSV, ",", "%Y-%m-%d %H:%M:%S"
			o.ExtendedHeader, o.Header = true, false
		},
		metrics: []Metric{metric("mem.util.used", "m.u.used", "Kbyte")},
		samples: []*Sample{sample(0, "0")},
		want: lines(`
		|#
		|#  archive: rank-pred
		|#     host: localhost
		|# timezone: UTC+0
		|#    start: Thu Jan  1 00:00:00 1970
		|#      end: Thu Jan  1 00:00:17 1970
		|#  metrics: 1 (1 instance)
		|#  samples: 3
		|# interval: 1.0 sec
		|# duration: 00:00:02
		|#
		|1970-01-01 00:00:00,0
`),
	},
}

// TestPrinters prints samples. The texts are as the real pmrep prints them.
func TestPrinters(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, test := range printerTests {
		t.Run(test.name, func(t *testing.T) {
			got := printReport(t, options(test.change), header(test.metrics...), test.samples...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
