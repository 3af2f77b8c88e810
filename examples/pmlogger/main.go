// Pmlogger records metrics of a collector into an archive, as pmlogger(1) of PCP does.
//
//	pmlogger -c config 20261123        # records what the configuration lists until it is stopped
//	echo 'log on 1 sec kernel.all.load' | pmlogger -h web1 -T 1hour web1
//	pmlogger -C -c config              # checks the configuration
//
// While it runs, pmlc(1) can change what it records.
//
// With --daily the operand is a directory that has an archive for each day. The logger starts a new
// archive at midnight and does the work of pmlogger_daily(1). It merges the archives of a past day
// and compresses them (--compress=gzip, xz, zstd or none, gzip by default). It removes archives
// after a time (--keep, 14days by default), and the oldest when they have too many bytes
// (--max-size, such as 10g).
//
//	pmlogger --daily --keep=30days --compress=zstd -h web1 -c config /var/log/pcp/pmlogger/web1
//
// With a URL as the operand it sends the archive while it records it, to examples/pmproxy --push or
// to pmproxy of PCP 7. The URL is http, https or unix:/path of a socket. --login names a file with
// a user and a password in one line, or with - and a token. While the receiver cannot be reached,
// 64 MiB of records are kept in memory.
//
//	pmlogger -h web1 -c config --login=web1.login https://gateway:44322
package main

import (
	"os"
	"runtime"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pmlogger"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	if os.Getenv("GOMAXPROCS") == "" { // one goroutine does all the work, and others would only be woken for it
		runtime.GOMAXPROCS(1)
	}
	time.Local = tool.LocalZone() // the time package alone takes only names of files for a TZ
	os.Exit(pmlogger.Main(os.Args))
}
