package pmstat

import (
	"fmt"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
)

const (
	defaultRows = 21 // below a header, where there is no terminal
	headerLines = 3
)

// headerRows returns the number of rows below a header: as many as fit on the terminal. As in PCP's
// pmstat it may be less than 1 on a small terminal.
func headerRows() int {
	_, height, err := terminal.Size(os.Stdout)
	if err != nil || height == 0 {
		return defaultRows
	}
	return height - headerLines
}

// printHeader prints the time of the sample before the rows and the titles of the columns. The
// second line of titles for several sources is that of PCP's pmstat. It has no column for buffers:
// "buff" and "cache" are free and cached memory.
func (r *report) printHeader() {
	at := r.sources[0].time.Add(time.Second / 2).Truncate(time.Second)
	fmt.Fprintf(r.out, "@ %s\n", at.In(r.Location).Format(pcptool.CtimeLayout))
	first, second := " loadavg                      memory", "   1 min   swpd   free   buff  cache"
	if r.several {
		first, second = "node    loadavg               memory", "          1 min   swpd   buff  cache"
	}
	swap := "pi   po"
	if r.swapsProcesses {
		swap = "si   so"
	}
	processors, titles := "         cpu", "  us  sy  id"
	if r.extended {
		processors, titles = "                     cpu", "  us  sy  id  wa  st  gu"
	}
	fmt.Fprintf(r.out, "%s      swap        io    system%s\n%s   %s   bi   bo   in   cs%s\n", first, processors, second, swap, titles)
}
