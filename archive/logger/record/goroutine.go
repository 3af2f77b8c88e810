package record

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/recordpipe"
	"github.com/pcp-go/pcp/pmapi"
)

// A goroutine is a recorder in this process.
type goroutine struct {
	config string
	cancel context.CancelFunc
}

// newGoroutine parses the configuration, so that Add reports its errors.
func newGoroutine(h Host) (*goroutine, error) {
	if _, err := (logconf.Options{}).Parse(h.Name+".config", strings.NewReader(h.Config)); err != nil {
		return nil, err
	}
	return &goroutine{config: h.Config}, nil
}

func (g *goroutine) start(ctx context.Context, l *Logger) error {
	file, err := createFile(l.LogFile())
	if err != nil {
		return err
	}
	ctx, g.cancel = context.WithCancel(ctx)
	go func() {
		defer g.cancel()
		log := slog.New(slog.NewTextHandler(file, nil)).With(slog.String("host", l.host.Name))
		err := g.record(ctx, l, log)
		if err != nil {
			log.Error("recording failed", slog.Any("err", err))
		} else {
			log.Info("recording ended")
		}
		l.end(errors.Join(err, file.Close()))
	}()
	return nil
}

// record records until ctx or the recording ends.
func (g *goroutine) record(ctx context.Context, l *Logger, log *slog.Logger) error {
	dial := l.s.o.Dial
	if dial == nil {
		dial = pmapi.Dial
	}
	source, err := dial(ctx, l.host.Name)
	if err != nil {
		return err
	}
	defer source.Close()
	o := l.s.o.Logger
	o.Config, o.Base = g.config, l.Archive()
	o.Report = func(e logger.Event) {
		log.Info(e.String())
		if report := l.s.o.Report; report != nil {
			report(l.host.Name, e)
		}
	}
	return logger.Run(ctx, source, o)
}

func (g *goroutine) send(c recordpipe.Command) error {
	if c == recordpipe.Stop {
		g.cancel()
	}
	return nil
}

func (g *goroutine) pid() int { return os.Getpid() }
