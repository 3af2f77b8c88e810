// Pmtime steps several programs through time together: programs started with -p and its port, and
// programs that start it with -g. It is a time control server like PCP's pmtime but has no window.
// Options replace the buttons.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// defaultPort is the first port that is tried without -p and PMTIME_PORT.
const defaultPort = 43334

// A command is the command line.
type command struct {
	pcptool.Command
	server timecontrol.Server
	port   int // of -p; 0 without
}

func newCommand() *command {
	c := &command{}
	c.Command = pcptool.Command{Name: "pmtime", Synopsis: "[options]"}
	w := &c.server.Window
	c.AddOptions("General options",
		tool.Option{Short: 'a', Long: "archive", Help: "step programs through their archives",
			Set: func(string) error { c.server.Source = timecontrol.SourceArchive; return nil }},
		tool.Option{Short: 'h', Long: "host", Help: "step programs on collectors as time passes, the default",
			Set: func(string) error { c.server.Source = timecontrol.SourceHost; return nil }},
		tool.Option{Short: 'p', Long: "guiport", Arg: "N", Help: "port to listen on; without, the first free one is printed",
			Set: tool.Number(&c.port, 1, "-p requires a port number")},
		tool.Option{Short: 'S', Long: "start", Arg: "TIME", Help: "start of the time window, within that of the first program", Set: text(&w.Start)},
		tool.Option{Short: 'T', Long: "finish", Arg: "TIME", Help: "end of the time window", Set: text(&w.Finish)},
		tool.Option{Short: 'O', Long: "origin", Arg: "TIME", Help: "initial sample time within the time window", Set: text(&w.Origin)},
		tool.Option{Short: 'A', Long: "align", Arg: "TIME", Help: "align sample times on natural boundaries", Set: text(&w.Align)},
		tool.Option{Short: 't', Long: "interval", Arg: "DELTA", Help: "interval of the steps; without, that of the first program", Set: c.setInterval})
	c.AddOptions("Stepping options",
		tool.Option{Short: 'x', Long: "speed", Arg: "FACTOR", Help: "seconds of archives in a second; without, as fast as the programs are", Set: c.setSpeed},
		tool.Option{Short: 'b', Long: "backward", Help: "step from the end to the start", Set: tool.Flag(&c.server.Backward)},
		tool.Option{Short: 'n', Long: "clients", Arg: "N", Help: "start when there are N programs",
			Set: tool.Number(&c.server.Clients, 1, "-n requires a positive numeric argument")},
		tool.Option{Short: 'w', Long: "wait", Help: "at the end, wait until the programs have gone", Set: tool.Flag(&c.server.Stay)})
	c.Options = append(c.Options, c.Standard("debug", "timezone", "version", "help")...)
	return c
}

func text(variable *string) func(string) error {
	return func(value string) error {
		*variable = value
		return nil
	}
}

func (c *command) setInterval(value string) error {
	d, err := pmapi.ParseInterval(value)
	if err != nil {
		return errors.New("-t argument not in pmParseInterval(3) format:\n" + pcptool.SyntaxError(err).Error() + "\n")
	}
	c.server.Delta = d
	return nil
}

func (c *command) setSpeed(value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f > 0) {
		return errors.New("-x requires a positive numeric argument")
	}
	c.server.Speed = f
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := newCommand()
	status := c.Report(run(ctx, c, os.Args[1:]))
	stop()
	os.Exit(status)
}

// run serves until the programs have disconnected.
func run(ctx context.Context, c *command, args []string) error {
	operands, err := c.Parse(args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return c.UsageErrorf("pmtime: too many arguments\n")
	}
	c.SetArchiveZone("", "")
	c.server.Window.Location = c.Location
	ln, err := c.listen()
	if err != nil {
		return c.Errorf("cannot listen: %w", err)
	}
	if err := c.server.Serve(ctx, ln); err != nil {
		return c.Errorf("%w", err)
	}
	return nil
}

// listen listens on the port of -p, or on the first free one. It prints a free port for the program
// that has started this one.
func (c *command) listen() (net.Listener, error) {
	if c.port != 0 {
		return net.Listen("tcp4", address(c.port))
	}
	port := defaultPort
	if n, err := strconv.ParseUint(os.Getenv("PMTIME_PORT"), 10, 16); err == nil && n > 0 {
		port = int(n)
	}
	for {
		ln, err := net.Listen("tcp4", address(port))
		if err == nil {
			_, err = fmt.Printf("port=%d\n\x00", port)
			return ln, err
		}
		if port++; !errors.Is(err, syscall.EADDRINUSE) || port > 65535 {
			return nil, err
		}
	}
}

// address returns the address of a port on the loopback interface. Every client that can connect
// can stop the programs.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
