package fleetview

import (
	"context"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/terminal"
)

// A Screen is a terminal with its keys and its size.
type Screen interface {
	Draw(lines [][]byte) error
	Size() (width, height int)
	Keys() <-chan terminal.Key
	Resized() <-chan os.Signal
	Redraw()
	Suspend() error
}

// drawPause is the minimum time between two drawings.
const drawPause = 50 * time.Millisecond

// Show draws each snapshot on a screen until the snapshots end, q or Ctrl-C is pressed, or ctx
// ends. Keys 1 to 9 sort the hosts by a column, and r reverses the order.
func Show(ctx context.Context, screen Screen, hosts int, order Order, snapshots <-chan *Snapshot) error {
	var last *Snapshot
	var drawing <-chan time.Time // when to draw
	drawn := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s, ok := <-snapshots:
			if !ok {
				return nil
			}
			last = s
		case <-screen.Resized():
		case key, ok := <-screen.Keys():
			if !ok {
				return nil
			}
			switch {
			case key == 'q' || key == terminal.KeyInterrupt:
				return nil
			case key == terminal.KeySuspend:
				if err := screen.Suspend(); err != nil {
					return err
				}
			case key == terminal.KeyRedraw:
				screen.Redraw()
			case key == 'r':
				order.Reverse = !order.Reverse
			case last != nil && key >= '1' && int(key-'1') < len(last.columns):
				order.Column = int(key - '1')
			default:
				continue
			}
		case <-drawing:
			drawing, drawn = nil, time.Now()
			width, height := screen.Size()
			if err := screen.Draw(last.Lines(Layout{Hosts: hosts, Width: width, Height: height, Colour: true}, order)); err != nil {
				return err
			}
			continue
		}
		if drawing == nil && last != nil {
			drawing = time.After(max(drawPause-time.Since(drawn), 0))
		}
	}
}
