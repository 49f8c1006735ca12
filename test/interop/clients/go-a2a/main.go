// The client of the Go SDK of A2A against one agent, over one binding. Prints what it saw as JSON.
//
// Usage: program <url> <key> <binding>.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const scheme = "bearer"

type seen struct {
	Name     string `json:"name"`
	Scheme   string `json:"scheme"`
	Required bool   `json:"required"`
	// As the parser for cards of both versions reads them.
	LegacyScheme   string        `json:"legacy_scheme"`
	LegacyRequired bool          `json:"legacy_required"`
	Kinds          []string      `json:"kinds"`
	State          a2a.TaskState `json:"state"`
	Answer         string        `json:"answer"`
}

func main() {
	url, key, binding := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	card := resolve(ctx, agentcard.DefaultCardParser, url, key)
	legacy := resolve(ctx, a2av0.NewAgentCardParser(), url, key)
	result := seen{Name: card.Name}
	result.Scheme, result.Required = securityOf(card)
	result.LegacyScheme, result.LegacyRequired = securityOf(legacy)

	var offered []*a2a.AgentInterface
	for _, each := range card.SupportedInterfaces {
		if string(each.ProtocolBinding) == binding {
			offered = append(offered, each)
		}
	}
	card.SupportedInterfaces = offered
	client, err := a2aclient.NewFromCard(ctx, card, a2agrpc.WithGRPCTransport(
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	))
	check(err)
	authorised := a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{
		"Authorization": {"Bearer " + key},
	})
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	request := &a2a.SendMessageRequest{Message: message}
	for event, err := range client.SendStreamingMessage(authorised, request) {
		check(err)
		switch update := event.(type) {
		case *a2a.Task:
			result.add("task", update.Status.State)
		case *a2a.TaskStatusUpdateEvent:
			result.add("status_update", update.Status.State)
		case *a2a.TaskArtifactUpdateEvent:
			result.add("artifact_update", result.State)
			result.Answer += update.Artifact.Parts[0].Text()
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(result))
}

func resolve(ctx context.Context, parser agentcard.Parser, url, key string) *a2a.AgentCard {
	resolver := agentcard.Resolver{CardParser: parser}
	credential := agentcard.WithRequestHeader("Authorization", "Bearer "+key)
	card, err := resolver.Resolve(ctx, url, credential)
	check(err)
	return card
}

func securityOf(card *a2a.AgentCard) (string, bool) {
	var name string
	if http, ok := card.SecuritySchemes[scheme].(a2a.HTTPAuthSecurityScheme); ok {
		name = http.Scheme
	}
	for _, requirement := range card.SecurityRequirements {
		if _, ok := requirement[scheme]; ok {
			return name, true
		}
	}
	return name, false
}

func (s *seen) add(kind string, state a2a.TaskState) {
	s.Kinds = append(s.Kinds, kind)
	s.State = state
}

func check(err error) {
	if err != nil {
		log.Fatal(fmt.Errorf("a2a: %w", err))
	}
}
