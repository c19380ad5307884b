//! The agent's list of what is to do, from the results of its two sets of tools.
//!
//! `TodoWrite` tells the whole list each time. The task tools tell one task at a time, by ids that they count.

use indexmap::IndexMap;
use omniglot_schema::{Listed, Todo, TodoStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Default)]
pub(crate) struct Todos {
    tasks: IndexMap<String, Todo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TodoWrite {
    new_todos: Vec<WireTodo>,
}

#[derive(Deserialize)]
struct WireTodo {
    content: String,
    status: String,
}

#[derive(Deserialize)]
struct TaskCreate {
    task: WireTask,
}

#[derive(Deserialize)]
struct TaskList {
    tasks: Vec<WireTask>,
}

#[derive(Deserialize)]
struct WireTask {
    id: String,
    subject: String,
    #[serde(default)]
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskUpdate {
    task_id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    subject: Option<String>,
}

impl Todos {
    /// The list as it is after a tool has succeeded, if it is one that changes it. `None` inside means empty.
    pub(crate) fn learn(
        &mut self,
        tool: &str,
        input: Option<&RawValue>,
        result: Option<&RawValue>,
    ) -> Option<Option<Listed<Todo>>> {
        match tool {
            "TodoWrite" => {
                let TodoWrite { new_todos } = typed(result)?;
                let todo = |todo: WireTodo| Todo { text: todo.content, status: status(Some(&todo.status)) };
                return Some(listed(new_todos.into_iter().map(todo).collect()));
            }
            "TaskCreate" => {
                let TaskCreate { task } = typed(result)?;
                self.add(task);
            }
            "TaskList" => {
                let TaskList { tasks } = typed(result)?;
                self.tasks.clear();
                tasks.into_iter().for_each(|task| self.add(task));
            }
            "TaskUpdate" => self.update(typed(input)?),
            _ => return None,
        }
        Some(listed(self.tasks.values().cloned().collect()))
    }

    fn add(&mut self, task: WireTask) {
        let todo = Todo { text: task.subject, status: status(task.status.as_deref()) };
        self.tasks.insert(task.id, todo);
    }

    fn update(&mut self, change: TaskUpdate) {
        if change.status.as_deref() == Some("deleted") {
            self.tasks.shift_remove(&change.task_id);
            return;
        }
        let Some(task) = self.tasks.get_mut(&change.task_id) else { return };
        if change.status.is_some() {
            task.status = status(change.status.as_deref());
        }
        if let Some(subject) = change.subject {
            task.text = subject;
        }
    }
}

fn typed<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    raw.filter(|raw| raw.get().starts_with('{')).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

fn listed(todos: Vec<Todo>) -> Option<Listed<Todo>> {
    (!todos.is_empty()).then(|| todos.into())
}

fn status(word: Option<&str>) -> TodoStatus {
    match word {
        Some("in_progress") => TodoStatus::InProgress,
        Some("completed") => TodoStatus::Completed,
        _ => TodoStatus::Pending,
    }
}
