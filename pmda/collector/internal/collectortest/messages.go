package collectortest

import (
	"context"
	"log/slog"
	"sync"
)

// Messages is a log handler that keeps the messages.
type Messages struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

// NewMessages is a handler without messages.
func NewMessages() *Messages { return &Messages{Handler: slog.DiscardHandler} }

func (m *Messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *Messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = append(m.text, r.Message)
	return nil
}

// Take returns what was logged since the last call.
func (m *Messages) Take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.text
	m.text = nil
	return text
}
