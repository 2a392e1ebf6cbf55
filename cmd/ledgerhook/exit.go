package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// The exit codes of every command.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitNotAllowed   = 4
	exitChanged      = 5 // a precondition did not hold: the server answered 409
	exitSomeFailed   = 6
	exitBadSignature = 7
	exitTimedOut     = 8
	exitDegraded     = 9
	exitInterrupted  = 130
)

// exitError is an error that knows its exit code. Without err the command has
// already said everything.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage returns an error about the command line.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// silent returns an error for a command that has already shown what is wrong.
func silent(code int) error { return &exitError{code: code} }

func exitCode(ctx context.Context, err error) int {
	var exit *exitError
	var api *apiError
	var network net.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &api):
		return api.exitCode()
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return exitTimedOut
	}
	return exitFailed
}

// errorLine is err on one line; empty when there is nothing left to say. The
// lines of joined errors become parts of it.
func errorLine(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	text := strings.TrimRight(err.Error(), "\n")
	return plain(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " "))
}

// apiError is a refusal by the server, in the server's words.
type apiError struct {
	status int
	text   string
	fields []fieldError // what of the request it is about, if the server says so
}

func (e *apiError) Error() string { return e.text }

func (e *apiError) exitCode() int {
	switch e.status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitNotAllowed
	case http.StatusConflict, http.StatusPreconditionFailed:
		return exitChanged
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return exitTimedOut
	}
	return exitFailed
}
