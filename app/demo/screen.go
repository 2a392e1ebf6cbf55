package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// paint colours a text for a terminal. Its value is an ANSI attribute.
type paint string

const (
	plain   paint = ""
	bold    paint = "1"
	red     paint = "31"
	green   paint = "32"
	yellow  paint = "33"
	blue    paint = "34"
	magenta paint = "35"
	cyan    paint = "36"
	grey    paint = "90"
)

// screen prints lines. On a terminal it colours them and keeps one line of
// standing below the last.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	standing string
}

func (s *screen) in(p paint, text string) string {
	if !s.terminal || p == plain {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// padded colours text and fills it up to width columns.
func (s *screen) padded(p paint, text string, width int) string {
	return s.in(p, text) + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

const (
	clearLine = "\r\x1b[K"
	wrapOff   = "\x1b[?7l" // a standing that is too wide is cut, not wrapped
	wrapOn    = "\x1b[?7h"
)

// print prints lines above the standing.
func (s *screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(lines, "\n") + "\n"
	if s.standing != "" {
		text = clearLine + text + wrapOff + s.standing + wrapOn
	}
	_, _ = io.WriteString(s.out, text)
}

// stand replaces the standing; an empty one removes it. Without a terminal
// there is none.
func (s *screen) stand(text string) {
	if !s.terminal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.standing {
		return
	}
	s.standing = text
	_, _ = io.WriteString(s.out, clearLine+wrapOff+text+wrapOn)
}

// Write prints the server's warnings as lines of their own.
func (s *screen) Write(p []byte) (int, error) {
	s.print(s.in(grey, strings.TrimRight(string(p), "\n")))
	return len(p), nil
}

// took shows a duration in at most six columns.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f m", d.Minutes())
}
