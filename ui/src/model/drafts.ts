/** Words that were not sent yet, by session: they stay when another page is looked at. */
export const drafts = new Map<string, string>();
