// Command provider is an OpenID Connect provider for tests: that of
// github.com/zitadel/oidc, which is certified, with its store in memory.
//
// It reads its people from the file it is given, each with groups, and tells
// the groups at its userinfo endpoint. Its first line is its issuer.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// store tells groups beside what the example's does.
type store struct {
	*storage.Storage
	groups map[string][]string // by the id of a person
}

func (s store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin); err != nil {
		return err
	}
	info.AppendClaims("groups", s.groups[subject])
	return nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address`")
	redirect := flag.String("redirect", "", "the `URL` that people are sent back to")
	people := flag.String("people", "", "JSON `file`: by id, Username, Password, FirstName, LastName, Email, Groups")
	flag.Parse()
	text, err := os.ReadFile(*people)
	if err != nil {
		log.Fatal(err)
	}
	var groups map[string]struct{ Groups []string }
	if err := json.Unmarshal(text, &groups); err != nil {
		log.Fatal(err)
	}
	users, err := storage.StoreFromFile(*people)
	if err != nil {
		log.Fatal(err)
	}
	storage.RegisterClients(storage.WebClient("ledgerhook", "the-client-secret", *redirect))
	s := store{storage.NewStorage(users), map[string][]string{}}
	for id, person := range groups {
		s.groups[id] = person.Groups
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	issuer := "http://" + listener.Addr().String() + "/"
	router := exampleop.SetupServer(issuer, s, slog.New(slog.NewTextHandler(os.Stderr, nil)), false)
	fmt.Println(issuer)
	log.Fatal(http.Serve(listener, router))
}
