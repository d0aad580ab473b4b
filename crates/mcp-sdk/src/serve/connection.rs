//! Handles the requests of one client.

use super::call::{self, Call};
use super::changes::KnownTools;
use super::declare::Audience;
use super::log::ClientLog;
use super::rounds::{self, Answers};
use super::server::{Project, Server};
use super::skills::ServedSkill;
use super::{ask, changes, codex, content, declare, fault, offers, roots, skills, tasks};
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{Cancellation, Context, ToolError};
use gemini_tools_session::with_time_limit;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    GetTaskParams, GetTaskResult, Implementation, InputRequiredResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
    ServerConfig, SubscriptionFilter, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a client may cache an answer, in milliseconds. A list depends on files that can change
/// at any time, and only clients that subscribe to changes are notified. `OWN_TTL_MS` is for what
/// does not change while this process runs.
const LIST_TTL_MS: u64 = 60_000;

const OWN_TTL_MS: u64 = 60 * 60 * 1000;

const ROOTS_LIMIT: Duration = Duration::from_secs(5);

const INSTRUCTIONS: &str = "\
Gemini CLI's tools for the files and commands of a project. Paths are absolute, or relative to \
the workspace's first root; nothing outside of the roots can be read or changed. Look for files \
with glob and search_file_content, read them with read_file, change them with replace or \
write_file. A failed call says what to try next. Long answers are cut with a note that says how \
to get the rest.";

pub(super) struct Connection {
    server: Arc<Server>,
    /// True if this client is the only one and can be sent requests at any time. A client over HTTP
    /// can be sent one only while it has a request open itself.
    is_alone: bool,
    roots: tokio::sync::Mutex<ClientRoots>,
    told: KnownTools,
    log: ClientLog,
}

/// The roots that a client has named. `now` is `None` if they have changed, or were never asked
/// for. The roots `before` the last change are kept in case that the client fails to list the new
/// ones: falling back to the current directory would give its model access to that.
#[derive(Default)]
struct ClientRoots {
    now: Option<Roots>,
    before: Option<Arc<Vec<PathBuf>>>,
}

type Roots = Result<Arc<Vec<PathBuf>>, ToolError>;

impl Connection {
    pub(super) fn new(server: Arc<Server>, is_alone: bool) -> Self {
        Self {
            server,
            is_alone,
            roots: tokio::sync::Mutex::default(),
            told: KnownTools::default(),
            log: ClientLog::default(),
        }
    }

    async fn roots(&self, peer: &Peer<RoleServer>) -> Roots {
        // Before `initialize`, it is not known yet whether the client has roots.
        if peer.peer_info().is_none() {
            return Ok(Arc::default());
        }
        let mut known = self.roots.lock().await;
        let roots = match known.now.take() {
            Some(roots) => roots,
            None => self.ask_for_roots(peer, known.before.clone()).await,
        };
        let again = match &roots {
            Ok(roots) => Ok(Arc::clone(roots)),
            Err(e) => Err(e.again()),
        };
        known.now = Some(roots);
        again
    }

    #[expect(deprecated, reason = "clients of older revisions still send roots")]
    async fn ask_for_roots(
        &self,
        peer: &Peer<RoleServer>,
        before: Option<Arc<Vec<PathBuf>>>,
    ) -> Roots {
        let has_roots = peer
            .peer_info()
            .is_some_and(|client| client.capabilities.roots.is_some());
        if !has_roots || !self.server.follows_roots() {
            return Ok(Arc::default());
        }
        let Ok(Ok(listed)) = timeout(ROOTS_LIMIT, peer.list_roots()).await else {
            let before = before.filter(|roots| !roots.is_empty());
            let what = match before {
                Some(_) => "the former ones stay",
                None => "the current directory is worked in",
            };
            (self.server.options.log)(&format!("The client does not say its roots; {what}."));
            return Ok(before.unwrap_or_default());
        };
        let uris = listed.roots.iter().map(|root| root.uri.as_str());
        roots::directories(uris).map(Arc::new)
    }

    /// Returns the roots for which tools are listed. Since protocol version 2026-07-28, the list
    /// must be the same for all clients and therefore does not depend on their roots.
    async fn roots_of_list(&self, context: &RequestContext<RoleServer>) -> Roots {
        if asks_by_results(context) {
            return Ok(Arc::default());
        }
        self.roots(&context.peer).await
    }

    async fn roots_of_call(
        &self,
        context: &RequestContext<RoleServer>,
        said: &Answers,
    ) -> Option<Roots> {
        if !asks_by_results(context) {
            return Some(self.roots(&context.peer).await);
        }
        if capabilities(context).roots.is_none() || !self.server.follows_roots() {
            return Some(Ok(Arc::default()));
        }
        let uris = said.roots()?.iter().map(String::as_str);
        Some(roots::directories(uris).map(Arc::new))
    }

    fn audience(&self, context: &RequestContext<RoleServer>) -> Audience {
        let client = context.client_info();
        Audience {
            can_ask: self.can_ask(context),
            host: client.and_then(|client| ClientHost::find(&client.name)),
        }
    }

    fn can_ask(&self, context: &RequestContext<RoleServer>) -> bool {
        self.server.options.rules.approval.is_some()
            && ask::is_possible(Some(&capabilities(context)))
    }

    /// Runs `work` with the project on a thread of its own, since it reads files.
    async fn with_project<T: Send + 'static>(
        &self,
        roots: Roots,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Project, &Context) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let roots = roots.map_err(|e| internal(&e))?;
        let host = self.audience(context).host;
        let server = Arc::clone(&self.server);
        let work = move |cx| {
            let project = server.project(&roots, host).map_err(|e| internal(&e))?;
            let done = work(&project, &cx);
            project.session.tell_notes(server.options.log);
            done
        };
        let cancel = with_time_limit(&Cancellation::default());
        let done = call::attend(&self.server.clock, cancel, None, context, work).await;
        done.unwrap_or_else(|e| Err(internal(&e)))
    }

    async fn skills(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<ServedSkill>, ErrorData> {
        let roots = self.roots_of_list(context).await;
        let log = self.server.options.log;
        let read = move |project: &Project, _: &Context| {
            let (skills, faults) = skills::all(project);
            for fault in &faults {
                log(&visible(fault));
            }
            Ok(skills)
        };
        self.with_project(roots, context, read).await
    }

    async fn offered<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        find: impl FnOnce(&Project, bool) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (roots, can_ask) = (self.roots_of_list(context).await, self.can_ask(context));
        let find = move |project: &Project, _: &Context| Ok(find(project, can_ask));
        self.with_project(roots, context, find).await
    }

    async fn read_by_tool(
        &self,
        request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Vec<ResourceContents>, InputRequiredResult>, ErrorData> {
        let uri = request.uri.clone();
        let find = move |project: &Project, can_ask| offers::call_for(project, can_ask, &uri);
        let Some((name, args)) = self.offered(context, find).await? else {
            return Err(skills::not_found(&request.uri, asks_by_results(context)));
        };
        let mut call = CallToolRequestParams::new(name).with_arguments(args);
        call.input_responses = request.input_responses;
        call.request_state = request.request_state;
        let answered = self.answer_now(call, context).await?;
        Ok(answered.map(|result| offers::contents(result, &request.uri)))
    }

    /// Makes a call whose answer becomes part of another result, so that it can't become a task.
    ///
    /// # Errors
    ///
    /// Returns the failure of the call.
    async fn answer_now(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<CallToolResult, InputRequiredResult>, ErrorData> {
        let result = match self.answer(request, context, false).await? {
            CallToolResponse::Complete(result) => result,
            CallToolResponse::InputRequired(mut asked) => {
                sign(&mut asked.meta, context);
                return Ok(Err(asked));
            }
            _ => return Err(ErrorData::internal_error("The call has no result.", None)),
        };
        if result.is_error == Some(true) {
            let texts = result.content.iter().filter_map(ContentBlock::as_text);
            let texts: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
            return Err(ErrorData::internal_error(texts.join("\n"), None));
        }
        Ok(Ok(result))
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        may_be_task: bool,
    ) -> Result<CallToolResponse, ErrorData> {
        let said = Answers::parse(request.input_responses, request.request_state.as_deref())?;
        let roots = match self.roots_of_call(context, &said).await {
            None => return Ok(rounds::roots_wanted().into()),
            Some(Ok(roots)) => roots,
            Some(Err(e)) => {
                let structured = self.server.options.structured_content;
                return Ok(content::refused(&e, structured).into());
            }
        };
        let host = self.audience(context).host;
        let call = Call {
            name: request.name.into_owned(),
            args: Value::Object(request.arguments.unwrap_or_default()),
            roots,
            host,
            answer_limit: host.and_then(|host| codex::answer_limit(host, &context.meta)),
            may_ask: self.can_ask(context),
            said: asks_by_results(context).then_some(said),
            client: capabilities(context),
            is_alone: self.is_alone,
            told: self.told.get(),
            logs: self.log.is_wanted(context),
            least_sandbox: codex::chosen_sandbox(&context.meta),
        };
        if may_be_task && asks_by_results(context) && call.client.supports_tasks() {
            return tasks::run(&self.server, call, context).await;
        }
        let never = watch::channel(None).1;
        let run = call::run(Arc::clone(&self.server), call, context.clone(), never);
        let (response, changed) = run.await?;
        if let Some(project) = changed {
            let audience = self.audience(context);
            // The clock counts this as a running call, so that the server does not end before the
            // client is notified.
            let cancel = with_time_limit(&Cancellation::default());
            let _running = self.server.clock.watch(&cancel, |_| {});
            self.told
                .notify(project, audience, cancel, &context.peer)
                .await;
        }
        Ok(response)
    }
}

/// Returns what the client can do in the version of the protocol that it speaks.
fn capabilities(context: &RequestContext<RoleServer>) -> ClientCapabilities {
    let mut client = context.client_capabilities().unwrap_or_default();
    let version = context.protocol_version();
    if version.is_some_and(|version| version < ProtocolVersion::V_2025_06_18) {
        client.elicitation = None;
    }
    client
}

fn asks_by_results(context: &RequestContext<RoleServer>) -> bool {
    rounds::are_needed(context.protocol_version().as_ref())
}

fn list_ttl(context: &RequestContext<RoleServer>) -> Option<u64> {
    asks_by_results(context).then_some(LIST_TTL_MS)
}

fn own() -> Implementation {
    Implementation::new("gemini-tools", env!("CARGO_PKG_VERSION"))
        .with_title("Gemini tools")
        .with_description("Gemini CLI's tools, and those of the project")
}

/// Adds this server's name and version to a result. Since protocol version 2026-07-28 there is no
/// handshake that tells them.
fn sign(meta: &mut Option<MetaObject>, context: &RequestContext<RoleServer>) {
    if asks_by_results(context) {
        let own = serde_json::json!(own());
        let meta = meta.get_or_insert_default();
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), own);
    }
}

fn internal(error: &ToolError) -> ErrorData {
    let data = serde_json::json!({ "errorType": error.kind });
    ErrorData::internal_error(error.to_string(), Some(data))
}

macro_rules! lists {
    ($($name:ident($own:ident, $context:ident) -> $list:ident $items:block)+) => {$(
        async fn $name(
            &self,
            request: Option<PaginatedRequestParams>,
            context: RequestContext<RoleServer>,
        ) -> Result<$list, ErrorData> {
            fault::refuse_cursor(request)?;
            let ($own, $context) = (self, &context);
            let mut result = $list::with_all_items($items);
            result.ttl_ms = list_ttl(&context);
            sign(&mut result.meta, &context);
            Ok(result)
        }
    )+};
}

/// The methods that [`Connection`] serves and whose requests must have parameters, except for
/// methods that the newest protocol version no longer has.
const SERVED: [&str; 9] = [
    "completion/complete",
    "prompts/get",
    "resources/read",
    "skills/get",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
];

impl ServerHandler for Connection {
    #[expect(deprecated, reason = "clients of older versions have a log")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .enable_skills()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(own())
            .with_instructions(INSTRUCTIONS)
    }

    fault::refuse_what_is_not_declared!(served: &SERVED);

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_alone {
            // The roots are requested now, so that the first call need not wait for them. An error
            // is reported by that call.
            let _ = self.roots(&context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        {
            let mut known = self.roots.lock().await;
            if let Some(Ok(roots)) = known.now.take() {
                known.before = Some(roots);
            }
        }
        if self.is_alone {
            let _ = self.roots(&context.peer).await;
        }
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(result.with_ttl_ms(OWN_TTL_MS))
    }

    lists! {
        list_resources(own, context) -> ListResourcesResult {
            let skills = own.skills(context).await?;
            let mut resources: Vec<Resource> = skills.iter().map(ServedSkill::resource).collect();
            resources.extend(own.offered(context, offers::resources).await?);
            resources
        }
        list_resource_templates(own, context) -> ListResourceTemplatesResult {
            own.offered(context, offers::templates).await?
        }
        list_prompts(own, context) -> ListPromptsResult {
            own.offered(context, offers::prompts).await?
        }
        list_skills(own, context) -> ListSkillsResult {
            let skills = own.skills(context).await?;
            skills.into_iter().map(|served| served.skill).collect()
        }
        list_tools(own, context) -> ListToolsResult {
            let audience = own.audience(context);
            let list = move |project: &Project, cx: &Context| {
                let tools = declare::client_tools(project, audience, &cx.cancel);
                let fingerprint = declare::fingerprint(&tools);
                project.declared.set(fingerprint);
                Ok((tools, fingerprint))
            };
            let roots = own.roots_of_list(context).await;
            let (tools, fingerprint) = own.with_project(roots, context, list).await?;
            if !asks_by_results(context) {
                own.told.set(fingerprint);
            }
            tools
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        // The skills are not kept between requests: all of them are read and hashed again to return
        // one file.
        let file = if request.uri.starts_with("skill://") {
            skills::content(self.skills(&context).await?, &request.uri)
        } else {
            None
        };
        let contents = match file {
            Some(file) => vec![file],
            None => match self.read_by_tool(request, &context).await? {
                Ok(contents) => contents,
                Err(asked) => return Ok(asked.into()),
            },
        };
        let mut result = ReadResourceResult::new(contents);
        sign(&mut result.meta, &context);
        Ok(result.into())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name;
        let prompts = self.offered(&context, offers::prompts).await?;
        if !prompts.iter().any(|prompt| prompt.name == name) {
            let message = format!("There is no prompt {name:?} here.");
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut call = CallToolRequestParams::new(name);
        call.arguments = request.arguments;
        call.input_responses = request.input_responses;
        call.request_state = request.request_state;
        match self.answer_now(call, &context).await? {
            Ok(result) => {
                let mut result = offers::prompt(result);
                sign(&mut result.meta, &context);
                Ok(result.into())
            }
            Err(asked) => Ok(asked.into()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let find = move |project: &Project, can_ask| {
            offers::completions(project, can_ask, &request.r#ref, &request.argument)
        };
        let values = self.offered(&context, find).await?;
        let completion = CompletionInfo::new(values)
            .map_err(|message| ErrorData::internal_error(message, None))?;
        let mut result = CompleteResult::new(completion);
        sign(&mut result.meta, &context);
        Ok(result)
    }

    #[expect(deprecated, reason = "clients of older versions have a log")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The newest version has no such method.
        if asks_by_results(&context) {
            return Err(fault::no_method("logging/setLevel"));
        }
        self.log.set_level(&request);
        Ok(())
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let mut skills = self.skills(&context).await?.into_iter();
        let Some(found) = skills.find(|served| served.skill.uri == request.uri) else {
            return Err(skills::not_found(&request.uri, true));
        };
        let mut result = GetSkillResult::new(found.skill);
        result.ttl_ms = list_ttl(&context);
        sign(&mut result.meta, &context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut response = self.answer(request, &context, true).await?;
        match &mut response {
            CallToolResponse::Complete(result) => sign(&mut result.meta, &context),
            CallToolResponse::InputRequired(result) => sign(&mut result.meta, &context),
            CallToolResponse::Task(result) => sign(&mut result.meta, &context),
            _ => {}
        }
        Ok(response)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.server.tasks.manager.get_task(&request.task_id)?;
        let mut result = GetTaskResult::new(task);
        sign(&mut result.meta, &context);
        Ok(result)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = &self.server.tasks.manager;
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.tasks.manager.cancel_task(&request.task_id)
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let audience = self.audience(subscription.request_context());
        changes::follow(&self.server, audience, &subscription).await;
        Ok(())
    }
}
