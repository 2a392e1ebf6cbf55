package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"ledgerhook/bench/stage"
)

// post is a form as a browser sends it, in bytes.
func post(address, path string, form url.Values) []byte {
	body := form.Encode()
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body)
}

// signIns tries to sign in at the portal over 1,000 connections, without an
// account.
func signIns(s *scene, end <-chan struct{}) fmt.Stringer {
	address := strings.TrimPrefix(s.api().Public, "http://")
	return gather(s, 1000, address, end, func(turn int) []byte {
		return post(address, "/portal/login", url.Values{"username": {fmt.Sprint("user", turn)}, "password": {"guess"}})
	})
}

// streams lets one operator's browser listen to 600 lists at once.
func streams(s *scene, end <-chan struct{}) fmt.Stringer {
	internal, _ := s.api().Reach()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(internal+"/ops/login", url.Values{"username": {"admin"}, "password": {stage.TestPassword}})
	if err != nil {
		s.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err != nil || !strings.Contains(string(page), "/ops/logout") {
		s.Fatalf("nobody is signed in: %s (%v)", resp.Status, err)
	}
	var cookies []string
	for _, c := range jar.Cookies(resp.Request.URL) {
		cookies = append(cookies, c.String())
	}
	address := strings.TrimPrefix(internal, "http://")
	return gather(s, 600, address, end, func(turn int) []byte {
		return fmt.Appendf(nil, "GET /ops/deliveries/live?q=ref:%d HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", turn, address, strings.Join(cookies, "; "))
	})
}
