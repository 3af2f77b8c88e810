package pmlogger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeFolio makes the archive folio "Latest" in the working directory if that is below the
// directory of PCP's archives, for loggers that pmlogger_check has started.
func (p *program) writeFolio() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(p.w, "Info: updateLatestFolio: getcwd() failed for host %s: %v\n", p.hostName, err)
		return
	}
	rel, err := filepath.Rel(p.conf.Get("PCP_ARCHIVE_DIR"), dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return
	}
	text := fmt.Sprintf("PCPFolio\nVersion: 1\n# use pmafm(1) to process this PCP archive folio\n#\nCreated: on %s at %s\nCreator: pmlogger\n%-15s %-23s %s\n%-15s %-23s %s\n",
		p.localHost, ctime(p.begun), "#", "Host", "Basename", "Archive:", p.hostName, p.base)
	if err := os.WriteFile("Latest", []byte(text), 0o666); err != nil {
		fmt.Fprintf(p.w, "Warning: failed to create \"Latest\" archive folio for host %s: %v\n", p.hostName, err)
	}
}
