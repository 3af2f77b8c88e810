package pmda

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/pdu"
)

// readHelp replaces the Agent's texts with those of a help file. Without the file the agent still
// serves, like C agents.
func (d *Daemon) readHelp(path string, log *slog.Logger) {
	dir, name := filepath.Split(path)
	h, err := d.Agent.readHelp(os.DirFS(cmp.Or(dir, ".")), name)
	if err != nil {
		log.Warn(fmt.Sprintf("PMDA %s: Unable to open help text file(s) from %q: %v", d.Agent.Name, path, pdu.FromError(err)), slog.Any("err", err))
		return
	}
	h.name = path
	h.texts() // logs entries that are wrong
	d.Agent.Use(h.wrap)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
