export async function measureQuestions() {}
