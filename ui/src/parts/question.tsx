/** The form of one or several questions: a choice, several choices, or words of one's own. */
import { useState } from "preact/hooks";
import type { Pending, Schemas } from "../../../sdk/typescript/src/index.js";
import { answer } from "../model/answers.js";
import { LongText } from "../text/long.js";
import { brief } from "../text/visible.js";
import { Words } from "./content.js";

type Question = Extract<Pending, { type: "question" }>;
type Info = Schemas["QuestionInfo"];

function questionsOf(request: Question): Info[] {
  const all = request.metadata?.questions;
  if (all && all.length > 0) return all;
  const options = request.options.map((label) => ({ label }));
  return [{ prompt: request.prompt, options, multi_select: false, free_text: options.length === 0 }];
}

export function QuestionForm({ session, request, isBusy }: { session: string; request: Question; isBusy: boolean }) {
  const questions = questionsOf(request);
  const [chosen, setChosen] = useState<string[][]>(() => questions.map(() => []));
  const [own, setOwn] = useState<string[]>(() => questions.map(() => ""));
  const set = <T,>(list: T[], at: number, value: T): T[] => list.map((one, index) => (index === at ? value : one));
  const submit = () => {
    const answers = questions.map((_, at) => [...(chosen[at] ?? []), ...(own[at]?.trim() ? [own[at].trim()] : [])]);
    void answer(session, request, { verb: "reply", body: { answers } });
  };
  const isEmpty = chosen.every((labels) => labels.length === 0) && own.every((words) => words.trim() === "");
  return (
    <form class="question" aria-label={`Answer ${brief(request.prompt)}`} onSubmit={(event) => (event.preventDefault(), submit())}>
      {questions.map((question, at) => (
        <OneQuestion
          key={at} question={question} name={`${request.question_id}-${at}`} chosen={chosen[at] ?? []} own={own[at] ?? ""}
          onChoose={(labels) => {
            setChosen(set(chosen, at, labels));
            if (!question.multi_select) setOwn(set(own, at, ""));
          }}
          onOwn={(words) => {
            setOwn(set(own, at, words));
            if (!question.multi_select && words !== "") setChosen(set(chosen, at, []));
          }}
        />
      ))}
      <div class="answers">
        <button type="submit" class="primary" disabled={isBusy || isEmpty}>Answer</button>
        <button type="button" class="danger" data-key="r" disabled={isBusy} onClick={() => void answer(session, request, { verb: "reject" })}>Dismiss question</button>
      </div>
    </form>
  );
}

interface OneProps {
  question: Info;
  name: string;
  chosen: string[];
  own: string;
  onChoose: (labels: string[]) => void;
  onOwn: (words: string) => void;
}

function OneQuestion({ question, name, chosen, own, onChoose, onOwn }: OneProps) {
  const { prompt, header, options, multi_select, free_text, format, detail } = question;
  const toggle = (label: string) => {
    if (!multi_select) return onChoose([label]);
    onChoose(chosen.includes(label) ? chosen.filter((one) => one !== label) : [...chosen, label]);
  };
  return (
    <fieldset>
      <legend>{header && <span class="tag">{brief(header)}</span>} <LongText text={prompt} /></legend>
      {detail && <Words text={detail} />}
      {options.map(({ label, description }, at) => (
        <label class="option" key={label}>
          <input type={multi_select ? "checkbox" : "radio"} name={name} data-key={at < 9 ? String(at + 1) : undefined} checked={chosen.includes(label)} onChange={() => toggle(label)} />
          <span><LongText text={label} />{description && <span class="dim"> <LongText text={description} /></span>}</span>
        </label>
      ))}
      {(free_text || options.length === 0) && (
        <input
          aria-label="Own answer" placeholder={format ? `A number (${format})` : options.length > 0 ? "Or your own words" : "Your answer"}
          inputMode={format ? "numeric" : "text"} value={own} onInput={(event) => onOwn(event.currentTarget.value)}
        />
      )}
    </fieldset>
  );
}
