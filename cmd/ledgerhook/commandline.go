package main

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkLine refuses an argument or a flag that is given and says nothing, as an
// unset variable of a script gives it: left out of a request it would ask for
// more than was meant, or for something else.
func checkLine(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() {
		return nil // a group says itself what it has
	}
	for i, arg := range args {
		name := argumentName(cmd, i)
		switch {
		case arg == "":
			return usage("%s is empty", name)
		case (arg == "." || arg == "..") && (name == "ID" || name == "CODE"):
			return usage("%s cannot be %q", name, arg) // a path of the API would lead elsewhere
		}
	}
	var empty error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if several, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(several.GetSlice(), "")
		}
		switch {
		case value == "" && f.Name != "cursor": // an empty cursor is where a list begins
			empty = usage("--%s is empty", f.Name)
		case value == "0" && slices.Contains([]string{"code", "rate", "max-in-flight"}, f.Name):
			empty = usage("--%s must be more than 0", f.Name)
		}
	})
	return empty
}

// argumentName is what the usage of cmd calls its i-th argument; the last name
// stands for all that follow.
func argumentName(cmd *cobra.Command, i int) string {
	names := strings.Fields(cmd.Use)[1:]
	if len(names) == 0 {
		return "an argument"
	}
	name, _, _ := strings.Cut(names[min(i, len(names)-1)], "|")
	return strings.Trim(name, "[]…")
}

// flagOf names the flag that sets a field of a request.
var flagOf = map[string]string{
	"ackMode": "ack-mode", "cursor": "cursor", "description": "description", "endpointId": "endpoint", "errorClass": "error", "expiresAt": "days",
	"headers": "header", "idempotencyKey": "key", "limit": "limit", "maxInFlight": "max-in-flight", "name": "name", "network": "network", "partnerCode": "partner",
	"ordered": "ordered", "price": "price", "publicKey": "public-key", "walletAddress": "wallet",
	"ratePerSecond": "rate", "rateLimit": "rate-limit", "reason": "reason", "reference": "reference", "replayId": "replay", "scopes": "scopes",
	"since": "since", "state": "state", "statusCode": "code", "timeoutSeconds": "timeout", "until": "until", "url": "url",
	"webhookType": "type", "webhookTypes": "types",
}

// argumentOf names the argument that sets a field of a request, in the words of
// the command's usage.
var argumentOf = map[string]string{"partnerCode": "CODE", "crypto": "CRYPTO", "name": "NAME"}

// blameFlags makes a refusal of what flags of cmd say an error of the command
// line, which names the flags instead of the request's fields.
func blameFlags(cmd *cobra.Command, err error) error {
	var refused *apiError
	if !errors.As(err, &refused) || refused.status != http.StatusBadRequest {
		return err
	}
	text, blamed := refused.text, false
	for _, e := range refused.fields {
		field := e.Pointer + e.Parameter
		name, part, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(field, "/filter"), "/"), "/")
		flag := flagOf[name]
		says := "--" + flag + " " + e.Detail
		switch argument := argumentOf[name]; {
		case argument != "" && slices.Contains(strings.Fields(cmd.Use), argument):
			says = argument + " " + e.Detail
		case !cmd.Flags().Changed(flag):
			continue
		case flag == "header":
			says = "--" + flag + " " + part + " " + e.Detail
		}
		text, blamed = strings.Replace(text, field+" "+e.Detail, says, 1), true
	}
	if !blamed {
		return err
	}
	return usage("%s", text)
}
