package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// The load generator and the receivers share the processors with what they
// measure, so each speaks HTTP/1.1 in one goroutine a connection: net/http's own
// client and server hand every message between several.

// unanswered is how long a POST is waited for.
const unanswered = 30 * time.Second

// line is a kept connection of a client.
type line struct {
	net.Conn
	in *bufio.Reader
}

// lines posts to one URL over kept connections. It is safe for concurrent use.
type lines struct {
	host string
	head []byte // of every request, up to the length of its body

	mu   sync.Mutex
	idle []line
}

func newLines(to, token string) (*lines, error) {
	at, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	head := "POST " + at.RequestURI() + " HTTP/1.1\r\nHost: " + at.Host + "\r\nAuthorization: Bearer " + token +
		"\r\nContent-Type: application/json\r\nContent-Length: "
	return &lines{host: at.Host, head: []byte(head)}, nil
}

// post sends body over the connection that was used last, or over a new one.
func (l *lines) post(body []byte) (status int, said []byte, err error) {
	to, err := l.take()
	if err != nil {
		return 0, nil, err
	}
	if status, said, err = to.post(l.head, body); err != nil {
		_ = to.Close()
		return 0, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, to)
	return status, said, nil
}

func (l *lines) take() (line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.idle) - 1; last >= 0 {
		to := l.idle[last]
		l.idle = l.idle[:last]
		return to, nil
	}
	conn, err := net.DialTimeout("tcp", l.host, unanswered)
	return line{conn, bufio.NewReader(conn)}, err
}

func (l line) post(head, body []byte) (status int, said []byte, err error) {
	if err := l.SetDeadline(time.Now().Add(unanswered)); err != nil {
		return 0, nil, err
	}
	message := append(bytes.Clone(head), strconv.Itoa(len(body))+"\r\n\r\n"...)
	if _, err := l.Write(append(message, body...)); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0, nil, err
	}
	said, err = io.ReadAll(response.Body)
	return response.StatusCode, said, err
}
