package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"ledgerhook/bench/stage"
)

// post is a request with a body, in bytes.
func post(address, path, header, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Length: %d\r\n\r\n%s", path, address, header, len(body), body)
}

// signIns tries to sign in at the portal over 1,000 connections, without an
// account.
func signIns(s *scene, _ <-chan struct{}) fmt.Stringer {
	c := &crowd{Address: strings.TrimPrefix(s.api().Public, "http://"), Every: time.Second}
	for turn := range 1000 {
		form := url.Values{"username": {fmt.Sprint("user", turn)}, "password": {"guess"}}
		c.Requests = append(c.Requests, post(c.Address, "/portal/login", "Content-Type: application/x-www-form-urlencoded", form.Encode()))
	}
	return gather(s, c)
}

// streams lets one operator's browser listen to 600 lists at once.
func streams(s *scene, _ <-chan struct{}) fmt.Stringer {
	internal, _ := s.api().Reach()
	browser := stage.SignIn(s.api())
	at, err := url.Parse(internal + "/ops")
	if err != nil {
		s.Fatal(err)
	}
	var cookies []string
	for _, c := range browser.Jar.Cookies(at) {
		cookies = append(cookies, c.String())
	}
	c := &crowd{Address: strings.TrimPrefix(internal, "http://"), Every: time.Second}
	for turn := range 600 {
		c.Requests = append(c.Requests, fmt.Appendf(nil, "GET /ops/deliveries/live?q=ref:%d HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", turn, c.Address, strings.Join(cookies, "; ")))
	}
	return gather(s, c)
}
